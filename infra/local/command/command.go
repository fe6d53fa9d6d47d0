// Package command is the command line of the local cloud: up, demo, env, status, down.
//
// Results go to standard output; progress and errors to standard error. Run
// returns 0 for success, 1 when something failed or ended otherwise than it
// should, and 2 when the command line is wrong.
package command

import (
	"context"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"triad/infra/local/cloud"
	"triad/infra/repository"
)

// Env is what a command sees of the world. All of it is required.
type Env struct {
	Stdout, Stderr io.Writer
	// Lookup reads an environment variable; AWS_ENDPOINT_URL is read.
	Lookup func(name string) (value string, found bool)
}

// root is the whole command line.
type root struct {
	Up     upCommand     `cmd:"" help:"Start an emulator of AWS and deploy the functions to it, or bring them up to date."`
	Demo   demoCommand   `cmd:"" help:"Enqueue the sample orders with the aws command and see each to its end."`
	Env    envCommand    `cmd:"" help:"Print settings for a shell: credentials, address, stack, and the aws command."`
	Status statusCommand `cmd:"" help:"Show what runs, and what waits in each queue."`
	Down   downCommand   `cmd:"" help:"Stop what runs; nothing is left."`
}

const description = `Triad as Lambda functions on this machine, against an emulator of AWS.

Without AWS_ENDPOINT_URL, MiniStack is started. With it, as http://localhost:4566 of
LocalStack, the stack is deployed there. Everything but the tools is in .local/cloud/run.`

// ended is how a help text ends the parsing.
type ended int

// Run parses and runs a command line, without the program's name, and returns
// the exit code.
func Run(ctx context.Context, env Env, args []string) (code int) {
	parser := kong.Must(&root{}, kong.Name("local"), kong.Description(description), kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(code int) { panic(ended(code)) }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Bind(env), kong.BindTo(ctx, (*context.Context)(nil)))
	defer func() {
		if end := recover(); end != nil {
			early, is := end.(ended)
			if !is {
				panic(end)
			}
			code = int(early)
		}
	}()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		_, _ = fmt.Fprintf(env.Stderr, "local: %v; see --help\n", err)
		return 2
	}
	if err := parsed.Run(); err != nil {
		_, _ = fmt.Fprintf(env.Stderr, "local: %v\n", err)
		return 1
	}
	return 0
}

// config is what the environment says of the cloud.
func (e Env) config(stack string) (cloud.Config, error) {
	folder, err := repository.Find()
	if err != nil {
		return cloud.Config{}, err
	}
	endpoint, _ := e.Lookup("AWS_ENDPOINT_URL")
	return cloud.Config{Root: folder, Stack: stack, Endpoint: endpoint, Out: e.Stderr}, nil
}

// open finds the cloud that is up.
func (e Env) open() (*cloud.Cloud, error) {
	config, err := e.config("")
	if err != nil {
		return nil, err
	}
	return cloud.Open(config)
}
