// Command mutate tries every mutant of a package that gremlins lists, and exits
// with 1 when one lives.
//
//	gremlins unleash --dry-run -o mutants.json ./shared/task
//	mutate -report mutants.json -package shared/task
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"triad/infra/mutate/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command.Run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(code)
}
