// Command soak kills and freezes Triad's real processes while orders flow, and
// audits what came of each. See `go run ./infra/soak --help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"triad/infra/soak/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command.Run(ctx, command.Env{Stdout: os.Stdout, Stderr: os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}
