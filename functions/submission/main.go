// Command submission is the Lambda function of the Submission: it takes orders off the
// submissions queue.
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
	made, err := cloud.Submission(context.Background(), function.Environment{
		Lookup: os.LookupEnv, Workflows: workflows.FS, Out: os.Stdout,
	})
	if err != nil {
		log.Fatal(err)
	}
	trigger.Start(made)
}
