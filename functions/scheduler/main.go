// Command scheduler is the Lambda function of the Scheduler: it takes wake-ups, replies
// and heartbeats off the scheduler queue.
package main

import (
	"context"
	"log"
	"os"

	"triad/shared/cloud"
	"triad/shared/function"
	"triad/shared/trigger"
	"triad/workflows"
)

func main() {
	made, err := cloud.Scheduler(context.Background(), function.Environment{
		Lookup: os.LookupEnv, Workflows: workflows.FS, Out: os.Stdout,
	})
	if err != nil {
		log.Fatal(err)
	}
	trigger.Start(made)
}
