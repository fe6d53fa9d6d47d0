// Command supervisor is the Lambda function of the Supervisor, behind a schedule and the
// queue of its own delayed ticks.
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
	made, err := cloud.Supervisor(context.Background(), function.Environment{
		Lookup: os.LookupEnv, Workflows: workflows.FS, Out: os.Stdout,
	})
	if err != nil {
		log.Fatal(err)
	}
	trigger.Start(made)
}
