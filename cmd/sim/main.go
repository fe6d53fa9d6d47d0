// Command sim runs the engine under the simulator: one seed with its trace, or
// many with a table. Package shared/sim explains the method; `sim -help` lists what
// can be asked for.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"triad/cmd/sim/command"
)

func main() {
	debug.SetGCPercent(800) // a run lives for milliseconds, and memory is not short
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command.Run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(code)
}
