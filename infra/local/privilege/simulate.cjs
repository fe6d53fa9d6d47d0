// Answers, for each simulation on standard input, whether IAM allows it. The
// evaluation is that of @cloud-copilot/iam-simulate, found by NODE_PATH.
const { runSimulation } = require('@cloud-copilot/iam-simulate')

async function evaluate({ action, resource, policies }) {
  const account = resource.split(':')[4]
  const result = await runSimulation(
    {
      request: {
        principal: `arn:aws:iam::${account}:role/function`,
        action,
        resource: { resource, accountId: account },
        contextVariables: { 'aws:SecureTransport': 'true' }
      },
      identityPolicies: policies.map((policy, i) => ({ name: `policy ${i}`, policy })),
      serviceControlPolicies: [],
      resourceControlPolicies: []
    },
    {}
  )
  if (result.resultType === 'error') {
    return { error: JSON.stringify(result.errors) }
  }
  return { allowed: result.overallResult === 'Allowed' }
}

async function main() {
  let text = ''
  for await (const chunk of process.stdin) text += chunk
  const answers = []
  for (const simulation of JSON.parse(text)) answers.push(await evaluate(simulation))
  process.stdout.write(JSON.stringify(answers))
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
