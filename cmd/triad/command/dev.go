package command

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/cmd/triad/local"
	"triad/shared/remote"
	"triad/workflows"
)

// DevCommand runs everything on this machine until interrupted.
type DevCommand struct {
	Data          string        `default:".local/triad.db" placeholder:"FILE" help:"The store's file; made if need be (${default})."`
	Listen        string        `default:"127.0.0.1:7070" placeholder:"ADDRESS" help:"Address of the HTTP API (${default}). It knows no users: keep it on this machine."`
	Workflows     string        `placeholder:"DIR" help:"Directory of workflows and agents.yaml. The samples when not given."`
	Services      bool          `help:"Also run the reference services of the sample workflows, on 127.0.0.1:7080."`
	MaxUnfinished int           `placeholder:"N" help:"Refuse submissions while so many tasks are unfinished (5,000,000)."`
	Sweep         time.Duration `default:"1s" help:"Period of the Supervisor (${default})."`
	Verbose       bool          `help:"Log every transition."`
}

// Help is shown below the flags.
func (*DevCommand) Help() string {
	return `Stop it with Ctrl-C: work in flight comes to its end or goes on at the next start.

Examples:

  triad dev --services
  triad dev --workflows ./workflows --data ./orders.db`
}

// Run serves until interrupted.
func (c *DevCommand) Run(ctx context.Context, env *Env) error {
	if c.Sweep < 10*time.Millisecond {
		return misused("give a period such as 1s", "--sweep must be at least 10ms")
	}
	files, err := workflowFiles(c.Workflows)
	if err != nil {
		return err
	}
	env.tune()
	logger := env.logger(c.Verbose)
	l, err := local.Open(ctx, local.Config{
		Data: c.Data, Listen: c.Listen, Workflows: files, Lookup: env.Lookup,
		MaxUnfinished: c.MaxUnfinished, Sweep: c.Sweep, Logger: logger,
	})
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	if c.Services {
		g.Go(func() error { return serveServices(ctx, env, "127.0.0.1:7080", logger) })
	}
	env.note("engine ready at %s, %d unfinished tasks in %s; stop with Ctrl-C", l.URL, l.Engine.Unfinished(), c.Data)
	g.Go(func() error { return l.Run(ctx) })
	if err := g.Wait(); err != nil {
		return err
	}
	env.note("stopped; %d unfinished tasks go on at the next start", l.Engine.Unfinished())
	return nil
}

// workflowFiles is the directory given, or the samples of this program.
func workflowFiles(dir string) (fs.FS, error) {
	if dir == "" {
		return workflows.FS, nil
	}
	found, err := os.Stat(dir)
	if err != nil || !found.IsDir() {
		return nil, misused("give the directory that holds agents.yaml", "--workflows %s is not a directory", dir)
	}
	return os.DirFS(dir), nil
}

// tune has the garbage collector run less often, unless GOGC is set: an engine
// keeps little in memory (what is under way) and makes much garbage, so a heap of
// a few times as much is small still, and a fifth of the processor time is saved.
func (e *Env) tune() {
	if _, set := e.Lookup("GOGC"); !set {
		debug.SetGCPercent(400)
	}
}

// logger writes what operators should know to standard error.
func (e *Env) logger(verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(e.Stderr, &slog.HandlerOptions{Level: level}))
}

// ServicesCommand runs the reference services.
type ServicesCommand struct {
	Listen string `default:"127.0.0.1:7080" placeholder:"ADDRESS" help:"Address to listen on (${default})."`
}

// Help is shown below the flags.
func (*ServicesCommand) Help() string {
	return `GET / sums up what each service was asked and holds, GET /payment lists its effects.

Examples (the second makes payments answer 503 in a third of the calls, the third ends that):

  triad services
  curl -X PUT http://127.0.0.1:7080/faults/payment -d '{"rules": [{"share": 0.33, "status": 503}]}'
  curl -X DELETE http://127.0.0.1:7080/faults/payment`
}

// Run serves until interrupted.
func (c *ServicesCommand) Run(ctx context.Context, env *Env) error {
	return serveServices(ctx, env, c.Listen, env.logger(false))
}

func serveServices(ctx context.Context, env *Env, address string, logger *slog.Logger) error {
	env.note("reference services at http://%s", address)
	if err := remote.New(remote.Config{Logger: logger}).Serve(ctx, address); err != nil {
		return fmt.Errorf("%w: choose another address with --listen", err)
	}
	return nil
}
