// Package command holds the commands of the triad program, one file each. They
// parse, call the API and print: what a task may do is decided elsewhere.
//
// Results go to standard output, as text or, with --json, as JSON; everything
// else goes to standard error. Text from the server is printed without its
// control characters, so that no order can drive the terminal.
//
// Run returns 0 for success, 1 when something failed or ended otherwise than
// asked, 2 when the command line is wrong, and 130 when it was interrupted.
package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/alecthomas/kong"

	"triad/cmd/triad/stack"
)

// Root is the whole command line. A command is a field here with a type that has
// a method Run(context.Context, *Env, *Globals) error; it may take fewer
// arguments, in any order.
type Root struct {
	Globals

	Demo     DemoCommand     `cmd:"" group:"run" help:"Watch sample orders go through failing services, to their ends."`
	Dev      DevCommand      `cmd:"" group:"run" help:"Run engine and HTTP API on this machine until interrupted."`
	Services ServicesCommand `cmd:"" group:"run" help:"Run the reference services of the sample workflows."`
	Bench    BenchCommand    `cmd:"" group:"run" help:"Measure the engine beside the floor of this machine."`

	Submit   SubmitCommand   `cmd:"" group:"tasks" help:"Submit tasks from a file or standard input."`
	Show     ShowCommand     `cmd:"" group:"tasks" help:"Show everything about a task."`
	List     ListCommand     `cmd:"" group:"tasks" help:"List tasks."`
	Watch    WatchCommand    `cmd:"" group:"tasks" help:"Follow a task to its end, or the number of tasks in each state."`
	Signal   SignalCommand   `cmd:"" group:"tasks" help:"Deliver the signal that a step waits for."`
	Notices  NoticesCommand  `cmd:"" group:"tasks" help:"Read a response queue."`
	Resubmit ResubmitCommand `cmd:"" group:"operate" help:"Let failed tasks go on from the step that failed."`
	Cancel   CancelCommand   `cmd:"" group:"operate" help:"End tasks; what they have done is undone."`
	Undo     UndoCommand     `cmd:"" group:"operate" help:"Undo what tasks have done."`
	Pause    PauseCommand    `cmd:"" group:"operate" help:"Start no further step of tasks."`
	Resume   ResumeCommand   `cmd:"" group:"operate" help:"Let paused tasks go on."`
	Rejected RejectedCommand `cmd:"" group:"operate" help:"Look at messages that could not be processed; resend or dismiss them."`
	Alerts   AlertsCommand   `cmd:"" group:"operate" help:"List what operators were told."`
	Redrive  RedriveCommand  `cmd:"" group:"operate" help:"Count the dead letters of a stack, or move them back to their queues."`
	Doctor   DoctorCommand   `cmd:"" group:"operate" help:"Examine the store: what must be true of it, and what is wrong."`
	Workflow WorkflowCommand `cmd:"" group:"define" help:"Check definitions; list those on offer; give new ones to a stack."`
	Version  VersionCommand  `cmd:"" group:"define" help:"Print the version of this program."`
}

// Globals are the flags of every command.
type Globals struct {
	URL      string `name:"url" placeholder:"URL" help:"Where the server is ($$TRIAD_URL; ${url})."`
	Stack    string `name:"stack" placeholder:"NAME" help:"Work on this stack on AWS instead ($$TRIAD_STACK), with your own credentials."`
	Region   string `name:"region" placeholder:"NAME" help:"Region of the stack; else as the aws command finds it."`
	Profile  string `name:"profile" placeholder:"NAME" help:"Profile of the aws command to use ($$AWS_PROFILE)."`
	Endpoint string `name:"endpoint-url" placeholder:"URL" help:"Where a local cloud listens, instead of AWS ($$AWS_ENDPOINT_URL)."`
	JSON     bool   `name:"json" help:"Print JSON: one document, or one line for each result of a stream."`
}

// place settles where commands work: a flag counts before the environment, and
// there a stack before a server.
func (g *Globals) place(env *Env) error {
	switch {
	case g.URL != "" && g.Stack != "":
		return misused("give one of the two", "--url is for a server, --stack for a stack on AWS")
	case g.URL == "" && g.Stack == "":
		g.Stack = env.stackName()
	}
	if g.URL == "" {
		g.URL = env.url()
	}
	return nil
}

// stack opens the stack that the flags name.
func (g *Globals) stack(ctx context.Context) (*stack.Stack, error) {
	return stack.Open(ctx, stack.Config{Name: g.Stack, Region: g.Region, Profile: g.Profile, Endpoint: g.Endpoint})
}

// groups are the titles in the help, in their order.
var groups = []kong.Group{
	{Key: "run", Title: "Run:"},
	{Key: "tasks", Title: "Tasks:"},
	{Key: "operate", Title: "Operate:"},
	{Key: "define", Title: "Define:"},
}

const description = `Triad runs multistep tasks to a definite end.

Examples:

  triad submit order.json --wait
  triad show order-1
  triad list --state Error
  triad watch order-1
  triad resubmit order-1 --reason "payment is back"
  triad --stack shop list --unfinished`

// exited is how a help text ends the parsing.
type exited int

// Run parses and runs a command line, without the program's name, and returns
// the exit code. It is safe to call several times, also at once.
func Run(ctx context.Context, env *Env, args []string) (code int) {
	env = env.complete()
	root := &Root{}
	parser := kong.Must(root, options(ctx, env, root)...)
	defer func() {
		if end := recover(); end != nil {
			early, ok := end.(exited)
			if !ok {
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
		return env.fail(ctx, &root.Globals, misuse(err))
	}
	if err := root.place(env); err != nil {
		return env.fail(ctx, &root.Globals, err)
	}
	return env.fail(ctx, &root.Globals, parsed.Run())
}

func options(ctx context.Context, env *Env, root *Root) []kong.Option {
	return []kong.Option{
		kong.Name("triad"),
		kong.Description(description),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ExplicitGroups(groups),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"url": env.url()},
		kong.Bind(env, &root.Globals),
		kong.BindTo(ctx, (*context.Context)(nil)),
	}
}

// misuse makes an error of the parser ours.
func misuse(err error) error {
	command := "triad"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil && parse.Context.Command() != "" {
		if selected := parse.Context.Selected(); selected != nil {
			command = selected.FullPath()
		}
	}
	return &usageError{text: err.Error(), hint: fmt.Sprintf("see %s --help", command)}
}
