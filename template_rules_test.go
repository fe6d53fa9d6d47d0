package triad_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"triad/shared/settings"
)

// fortnight is 14 days in seconds, the longest that SQS keeps messages.
const fortnight = 1209600

// A rule looks at the templates and says what breaks it.
type rule func(ts templates) faults

// faults are what breaks a rule.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// is adds a fault unless the value at a path is the one wanted.
func (f *faults) is(where string, in any, want any, path ...string) {
	if got := at(in, path...); fmt.Sprint(got) != fmt.Sprint(want) {
		f.add("%s: %s is %v, not %v", where, strings.Join(path, "."), got, want)
	}
}

// visibility: a message that is being worked on is not delivered again.
func visibility(ts templates) (f faults) {
	for _, fn := range ts.functions() {
		timeout, _ := fn.properties["Timeout"].(int)
		for _, queue := range fn.queues() {
			invisible, _ := ts.stacks(queueFile)[queue]["VisibilityTimeout"].(int)
			if timeout < 1 || invisible < 6*timeout {
				f.add("%s: visible after %d s, %s may take %d s: 6 times that is needed", queue, invisible, fn.id, timeout)
			}
		}
	}
	return f
}

// deadLetters: what is given up on is kept where somebody finds it.
func deadLetters(ts templates) (f faults) {
	queues := ts.stacks(queueFile)
	for _, fn := range ts.functions() {
		for _, queue := range fn.queues() {
			if queues[queue] == nil {
				f.add("%s consumes %s, which is not of %s", fn.id, queue, queueFile)
			}
		}
	}
	queue := within(ts[queueFile], "Resources", "Queue", "Properties")
	f.is(queueFile, queue, "Dead.Arn", "RedrivePolicy", "deadLetterTargetArn", "Fn::GetAtt")
	f.is(queueFile, queue, 5, "RedrivePolicy", "maxReceiveCount")
	f.is(queueFile, queue, 262144, "MaximumMessageSize")
	if kept, _ := queue["MessageRetentionPeriod"].(int); kept == 0 || kept >= fortnight {
		f.add("%s: messages are kept for %d s: dead letters have to be kept longer", queueFile, kept)
	}
	dead := within(ts[queueFile], "Resources", "Dead", "Properties")
	f.is(queueFile, dead, fortnight, "MessageRetentionPeriod")
	f.is(queueFile, dead, "${Name}-dead", "QueueName", "Fn::Sub")
	rejected := within(ts[rejectFile], "Resources", "Queue", "Properties")
	f.is(rejectFile, rejected, fortnight, "MessageRetentionPeriod")
	f.is(rejectFile, rejected, 1<<20, "MaximumMessageSize")
	return f
}

// batches: one bad message does not bring back nine good ones, and a throttled
// function does not send good messages to the dead letters.
func batches(ts templates) (f faults) {
	for _, fn := range ts.functions() {
		if len(fn.sources()) == 0 {
			f.add("%s consumes no queue", fn.id)
		}
		if fn.properties["ReservedConcurrentExecutions"] != nil {
			f.add("%s has reserved concurrency: bound its sources instead", fn.id)
		}
		for name, source := range fn.sources() {
			where := fn.id + " " + name
			f.is(where, source, []string{"ReportBatchItemFailures"}, "FunctionResponseTypes")
			f.is(where, source, 10, "BatchSize")
			most := at(source, "ScalingConfig", "MaximumConcurrency")
			if lookup, is := at(most, "Fn::FindInMap").([]any); is && len(lookup) == 3 {
				parameter := fmt.Sprint(at(lookup[1], "Ref"))
				for _, choice := range texts(at(ts[rootFile], "Parameters", parameter, "AllowedValues")) {
					f.is(where+" "+parameter, ts[rootFile], choice, "Mappings", "Number", choice, "Is")
				}
			} else if n, is := most.(int); !is || n < 2 || n > 1000 {
				f.add("%s: MaximumConcurrency is %v", where, most)
			}
		}
	}
	return f
}

// functionsAreAlike: what every function needs, and no generated role.
func functionsAreAlike(ts templates) (f faults) {
	logs := ts.resources(rootFile, "AWS::Logs::LogGroup")
	for _, fn := range ts.functions() {
		p := fn.properties
		f.is(fn.id, fn.object, "go1.x", "Metadata", "BuildMethod")
		for path, want := range map[string]string{
			"Runtime": "provided.al2023", "Handler": "bootstrap", "RecursiveLoop": "Allow",
			"LoggingConfig.LogFormat": "JSON", "LoggingConfig.SystemLogLevel": "WARN",
			"LoggingConfig.ApplicationLogLevel": "INFO", // metrics are lines of this level
			"CodeUri":                           "functions/" + strings.ReplaceAll(fn.name, "agents-", "agents/") + "/",
		} {
			f.is(fn.id, p, want, strings.Split(path, ".")...)
		}
		f.is(fn.id, p, "[map[Ref:LambdaArchitecture]]", "Architectures")
		if !strings.HasPrefix(fmt.Sprint(at(p, "Role", "Fn::GetAtt")), "Roles.Outputs.") || p["Policies"] != nil {
			f.add("%s has a role that is not of %s", fn.id, rolesFile)
		}
		group := logs[fmt.Sprint(at(p, "LoggingConfig", "LogGroup", "Ref"))]
		f.is(fn.id+" logs", group, "/aws/lambda/${AWS::StackName}-"+fn.name, "Properties", "LogGroupName", "Fn::Sub")
		f.is(fn.id+" logs", group, "LogRetentionDays", "Properties", "RetentionInDays", "Ref")
	}
	return f
}

// environment: each function gets what it reads, and nothing else.
func environment(a agentsOf) rule {
	return func(ts templates) (f faults) {
		for _, fn := range ts.functions() {
			role := settings.Role(fn.name)
			if _, is := inGo(fn); is {
				role = settings.AgentGo
			}
			want := slices.Concat(settings.Needs(role), a.variables[fn.name], []string{"AWS_NEW_RETRIES_2026"})
			slices.Sort(want)
			variables := within(fn.properties, "Environment", "Variables")
			if got := slices.Sorted(maps.Keys(variables)); !slices.Equal(got, want) {
				f.add("%s: its variables are %v, not %v", fn.id, got, want)
			}
			f.is(fn.id, variables, "true", "AWS_NEW_RETRIES_2026")
		}
		return f
	}
}

// The agents of a deployment, by the names of their queues.
var agentQueue = regexp.MustCompile(`^agent-([a-z][a-z0-9-]*)$`)

// agentsAreThose: each agent of workflows/agents.yaml has its queue, a function
// that consumes it, and an output with its URL; one in Go a function of its own.
func agentsAreThose(a agentsOf) rule {
	return func(ts templates) (f faults) {
		agents := a.names
		listed := strings.Split(fmt.Sprint(at(ts[rootFile], "Mappings", "Agents", "All", "Names")), ",")
		slices.Sort(listed)
		if !slices.Equal(listed, agents) {
			f.add("the agents are listed as %v, agents.yaml has %v", listed, agents)
		}
		consumed := map[string]string{}
		for _, fn := range ts.functions() {
			for _, queue := range fn.queues() {
				consumed[queue] += fn.name
			}
		}
		var queues []string
		for id, p := range ts.stacks(queueFile) {
			name := agentQueue.FindStringSubmatch(afterStack(p["Name"]))
			if name == nil {
				continue
			}
			queues = append(queues, name[1])
			want := "agents-http"
			if slices.Contains(a.inGo, name[1]) {
				want = "agents-" + name[1]
			}
			if consumed[id] != want {
				f.add("the queue of agent %s is consumed by %q, not by %s", name[1], consumed[id], want)
			}
			f.is("output", ts[rootFile], id+".Outputs.Url", "Outputs", "Agent"+logical(name[1])+"QueueUrl", "Value", "Fn::GetAtt")
		}
		slices.Sort(queues)
		if !slices.Equal(queues, agents) {
			f.add("agents with a queue are %v, agents.yaml has %v", queues, agents)
		}
		return f
	}
}

// names: functions derive the URLs of queues from that of the scheduler queue.
func names(ts templates) (f faults) {
	for id, want := range map[string]string{"SubmissionsQueue": "submissions", "SchedulerQueue": "scheduler", "TicksQueue": "ticks"} {
		if got := afterStack(ts.stacks(queueFile)[id]["Name"]); got != want {
			f.add("%s has the name %q, not %q", id, got, want)
		}
	}
	if got := afterStack(ts.stacks(rejectFile)["RejectedQueue"]["Name"]); got != "rejected" {
		f.add("RejectedQueue has the name %q", got)
	}
	for _, fn := range ts.functions() {
		if fn.name == "" {
			f.add("the name of %s does not begin with the stack's", fn.id)
		}
	}
	return f
}

// outputs: what the command line reads of a deployment.
func outputs(ts templates) (f faults) {
	for name, want := range map[string]string{
		"TasksTable": "Tables.Outputs.Tasks", "OrdersTable": "Tables.Outputs.Orders",
		"SubmissionsQueueUrl": "SubmissionsQueue.Outputs.Url", "SchedulerQueueUrl": "SchedulerQueue.Outputs.Url",
		"TicksQueueUrl": "TicksQueue.Outputs.Url", "RejectedQueueUrl": "RejectedQueue.Outputs.Url",
	} {
		f.is("output", ts[rootFile], want, "Outputs", name, "Value", "Fn::GetAtt")
	}
	for name, want := range map[string]string{
		"Shards": "Shards", "ResponseQueueArns": "ResponseQueueArns", "AlertsTopic": "Alerts",
	} {
		f.is("output", ts[rootFile], want, "Outputs", name, "Value", "Ref")
	}
	f.is("output", ts[rootFile], []string{"Agents", "All", "Names"}, "Outputs", "Agents", "Value", "Fn::FindInMap")
	return f
}

// parametersAreExplained: whoever deploys is told what each is for.
func parametersAreExplained(ts templates) (f faults) {
	page := within(ts[rootFile], "Metadata", "AWS::CloudFormation::Interface")
	var grouped []string
	groups, _ := page["ParameterGroups"].([]any)
	for _, g := range groups {
		grouped = append(grouped, texts(at(g, "Parameters"))...)
	}
	slices.Sort(grouped)
	if all := slices.Sorted(maps.Keys(within(ts[rootFile], "Parameters"))); !slices.Equal(all, grouped) {
		f.add("parameters %v are grouped as %v", all, grouped)
	}
	for name, p := range within(ts[rootFile], "Parameters") {
		if at(p, "Description") == nil || at(p, "Default") == nil || at(page, "ParameterLabels", name, "default") == nil {
			f.add("parameter %s lacks a description, a default or a label", name)
		}
	}
	return f
}

// responseQueues: standard queues of SQS can be given, and nothing else that has an
// ARN: a notice would not get there.
func responseQueues(ts templates) (f faults) {
	pattern, err := regexp.Compile(fmt.Sprint(at(ts[rootFile], "Parameters", "ResponseQueueArns", "AllowedPattern")))
	if err != nil {
		f.add("ResponseQueueArns: %v", err)
		return f
	}
	const shop, fleet = "arn:aws:sqs:us-east-1:000000000000:triad-local-shop", "arn:aws-us-gov:sqs:us-gov-west-1:123456789012:Fleet_2"
	for text, want := range map[string]bool{
		"": true, shop: true, shop + "," + fleet: true,
		shop + ".fifo": false, "arn:aws:sns:us-east-1:123456789012:shop": false, shop + ", " + fleet: false, shop + ",": false,
		"shop": false, "https://sqs.us-east-1.amazonaws.com/123456789012/shop": false, "arn:aws:sqs:us-east-1:123456789012:*": false,
	} {
		if pattern.MatchString(text) != want {
			f.add("ResponseQueueArns may be %q: %v", text, !want)
		}
	}
	return f
}

// sweeps: the Supervisor runs each minute, and its delayed ticks divide that.
func sweeps(ts templates) (f faults) {
	for _, seconds := range texts(at(ts[rootFile], "Parameters", "SweepSeconds", "AllowedValues")) {
		var n int
		if _, err := fmt.Sscan(seconds, &n); err != nil || n < 5 || n > 60 || 60%n != 0 {
			f.add("SweepSeconds may be %s, which does not divide a minute", seconds)
		}
	}
	for _, fn := range ts.functions() {
		minute := within(fn.properties, "Events", "Minute")
		if (fn.name == "supervisor") != (minute != nil) {
			f.add("%s has the schedule %v", fn.id, minute)
		}
		if minute == nil {
			continue
		}
		f.is(fn.id, minute, "Schedule", "Type")
		f.is(fn.id, minute, "rate(1 minute)", "Properties", "Schedule")
		f.is(fn.id, minute, "TicksQueue.Outputs.DeadArn", "Properties", "DeadLetterConfig", "Arn", "Fn::GetAtt")
		f.is(fn.id, minute, 60, "Properties", "RetryPolicy", "MaximumEventAgeInSeconds")
		rule := fmt.Sprint(at(ts.stacks(queueFile)["TicksQueue"], "Rule", "Fn::Sub"))
		if name := afterStack(at(minute, "Properties", "Name")); name == "" || !strings.HasSuffix(rule, ":rule/${AWS::StackName}-"+name) {
			f.add("the dead letters of ticks take messages of %s, not of the schedule %s", rule, name)
		}
	}
	return f
}
