// Package command is the command line of the soak.
//
// The summary goes to standard output; progress and errors to standard error.
// Run returns 0 when nothing was violated, 1 when something was or the soak could
// not be made, and 2 when the command line is wrong.
package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/alecthomas/kong"

	"triad/infra/repository"
	"triad/infra/soak/chaos"
)

// Env is what the command sees of the world. All of it is required.
type Env struct{ Stdout, Stderr io.Writer }

// soak is the command line.
type soak struct {
	For   time.Duration `default:"2m" help:"How long orders come and faults happen, such as 30s or 8h (${default})."`
	Seed  uint64        `help:"Of the plan: which orders, and when what happens. Defaults to another one each time."`
	Rate  float64       `help:"Orders in a second (20; 6 with --cloud)."`
	Cloud bool          `help:"Soak the functions in a local cloud of its own, in place of the embedded engine."`
	JSON  bool          `name:"json" help:"Print the summary as JSON."`
	Keep  bool          `help:"Leave behind what there is to look at, as is done when something is wrong: store and log, or the local cloud in .local/cloud/soak."`
}

const description = `Kills and freezes Triad's real processes while orders flow and services fail; then audits each order.

It needs Linux, and bin/triad of "make build"; --cloud needs "make cloud-tools".`

// errViolated: the audit found something.
var errViolated = errors.New("there are violations")

// ended is how a help text ends the parsing.
type ended int

// Run parses and runs a command line, without the program's name, and returns
// the exit code.
func Run(ctx context.Context, env Env, args []string) (code int) {
	s := &soak{}
	parser := kong.Must(s, kong.Name("soak"), kong.Description(description), kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(code int) { panic(ended(code)) }))
	defer func() {
		if end := recover(); end != nil {
			early, is := end.(ended)
			if !is {
				panic(end)
			}
			code = int(early)
		}
	}()
	_, err := parser.Parse(args)
	if err == nil && (s.For < time.Second || s.Rate < 0 || s.Rate > 1000) {
		err = errors.New("--for must be at least 1s, and --rate 0 to 1000")
	}
	if err != nil {
		_, _ = fmt.Fprintf(env.Stderr, "soak: %v; see --help\n", err)
		return 2
	}
	if err := s.run(ctx, env); err != nil {
		_, _ = fmt.Fprintf(env.Stderr, "soak: %v\n", err)
		return 1
	}
	return 0
}

func (s *soak) run(ctx context.Context, env Env) error {
	root, err := repository.Find()
	if err != nil {
		return err
	}
	if s.Seed == 0 {
		s.Seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	_, _ = fmt.Fprintf(env.Stderr, "seed %d\n", s.Seed)
	form, freeze, err := s.form(root, env.Stderr)
	if err != nil {
		return err
	}
	report, err := chaos.Run(ctx, chaos.Config{
		Seed: s.Seed, Length: s.For, Rate: s.Rate, Freeze: min(freeze, s.For/3), Keep: s.Keep, Out: env.Stderr,
	}, form)
	if report == nil {
		return err
	}
	if s.JSON {
		text := json.NewEncoder(env.Stdout)
		text.SetIndent("", "  ")
		err = errors.Join(err, text.Encode(report))
	} else {
		err = errors.Join(err, report.Print(env.Stdout, s.again()))
	}
	if len(report.Violations) > 0 {
		err = errors.Join(err, fmt.Errorf("seed %d: %w", s.Seed, errViolated))
	}
	return err
}

// form is what is soaked, with its longest freeze. It settles the rate.
func (s *soak) form(root string, out io.Writer) (f chaos.Form, freeze time.Duration, err error) {
	if s.Cloud {
		s.Rate = cmp.Or(s.Rate, 6)
		f, err := chaos.NewCloud(root, out)
		return f, 30 * time.Second, err
	}
	s.Rate = cmp.Or(s.Rate, 20)
	program := filepath.Join(root, "bin", "triad")
	if _, err := os.Stat(program); err != nil {
		return nil, 0, fmt.Errorf("%w: `make build` makes it", err)
	}
	folder, err := os.MkdirTemp("", "triad-soak-")
	if err != nil {
		return nil, 0, err
	}
	_, _ = fmt.Fprintf(out, "store and log are in %s\n", folder)
	return &chaos.Embedded{Program: program, Folder: folder}, time.Minute, nil
}

// again is the command with the same plan.
func (s *soak) again() string {
	words := fmt.Sprintf("go run ./infra/soak --for %v --seed %d --rate %v", s.For, s.Seed, s.Rate)
	if s.Cloud {
		words += " --cloud"
	}
	return words
}
