// Command triad runs, submits to, watches and operates Triad. See triad --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/mattn/go-isatty"

	"triad/cmd/triad/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command.Run(ctx, &command.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Lookup: os.LookupEnv,
		Terminal: isatty.IsTerminal(os.Stdout.Fd()),
	}, os.Args[1:])
	stop()
	os.Exit(code)
}
