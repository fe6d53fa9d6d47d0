// Command http is the Lambda function of every agent that workflows/agents.yaml
// describes, behind one queue for each.
package main

import (
	"log"
	"os"

	"triad/shared/function"
	"triad/shared/trigger"
	"triad/workflows"
)

func main() {
	made, err := function.Agents(function.Environment{
		Lookup: os.LookupEnv, Workflows: workflows.FS, Out: os.Stdout,
	})
	if err != nil {
		log.Fatal(err)
	}
	trigger.Start(made)
}
