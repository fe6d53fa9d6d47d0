// Command payment is the Lambda function of the agent payment, which is written
// in Go: the example to copy for an agent of your own.
package main

import (
	"log"
	"os"

	"triad/shared/agent/payment"
	"triad/shared/function"
	"triad/shared/trigger"
)

func main() {
	work, err := payment.New(payment.Config{URL: os.Getenv("SERVICES_URL")})
	if err != nil {
		log.Fatal("the variable SERVICES_URL, which template.yaml sets: ", err)
	}
	made, err := function.Agent(function.Environment{Lookup: os.LookupEnv, Out: os.Stdout}, "payment", work.Call)
	if err != nil {
		log.Fatal(err)
	}
	trigger.Start(made)
}
