// Command gate breaks Triad on purpose, in many named ways, and fails when a
// break is not noticed. See `go run ./infra/gate --help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"triad/infra/gate/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command.Run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(code)
}
