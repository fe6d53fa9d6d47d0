// Command local runs Triad as Lambda functions on this machine, against an
// emulator of AWS. See `go run ./infra/local --help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"triad/infra/local/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command.Run(ctx, command.Env{Stdout: os.Stdout, Stderr: os.Stderr, Lookup: os.LookupEnv}, os.Args[1:])
	stop()
	os.Exit(code)
}
