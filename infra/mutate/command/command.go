// Package command is the command line that tries mutants: what it is asked, and
// what it says.
package command

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"regexp"

	"triad/infra/mutate/score"
	"triad/infra/repository"
)

// The codes that Run returns.
const (
	noneAlive = 0
	alive     = 1 // or could not be tried
	misused   = 2
)

type options struct {
	report, pkg, only string
	parallel          int
	json              bool
}

// Run tries the mutants that args ask for, and returns the exit code: 0 when none
// lives, 1 when one does or could not be tried, 2 for wrong arguments.
func Run(ctx context.Context, stdout, stderr io.Writer, args []string) (code int) {
	var o options
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.report, "report", "", "the report of `gremlins unleash --dry-run -o`")
	flags.StringVar(&o.pkg, "package", "shared/task", "the package that it is about")
	flags.StringVar(&o.only, "only", "", "try the mutants alone whose place or kind this regular expression fits")
	flags.IntVar(&o.parallel, "parallel", 0, "try so many at once; 0 is one for each processor")
	flags.BoolVar(&o.json, "json", false, "write the verdicts as JSON")
	if err := flags.Parse(args); err != nil {
		return misused
	}
	if flags.NArg() > 0 || o.report == "" {
		fmt.Fprintln(stderr, "mutate: -report is required, and only flags are taken")
		return misused
	}
	if err := o.run(ctx, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "mutate:", err)
		return alive
	}
	return noneAlive
}

func (o options) run(ctx context.Context, stdout, stderr io.Writer) error {
	root, err := repository.Find()
	if err != nil {
		return err
	}
	mutants, err := o.mutants()
	if err != nil {
		return err
	}
	tried := 0
	told := func(v score.Verdict) {
		tried++
		fmt.Fprintf(stderr, "%d of %d: %s\n", tried, len(mutants), v)
	}
	verdicts, err := score.Run(ctx, score.Config{Root: root, Package: o.pkg, Parallel: o.parallel, Told: told}, mutants)
	if err != nil {
		return err
	}
	return o.say(stdout, verdicts)
}

// mutants are those that are asked for.
func (o options) mutants() (asked []score.Mutant, err error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	all, err := score.Read(o.report, o.pkg)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if only.MatchString(m.String()) {
			asked = append(asked, m)
		}
	}
	if len(asked) == 0 {
		return nil, fmt.Errorf("-only: no mutant has a place or kind that %q fits", o.only)
	}
	return asked, nil
}

// say writes the score and those that live, which are an error.
func (o options) say(w io.Writer, verdicts []score.Verdict) error {
	count := map[score.Fate]int{}
	for _, v := range verdicts {
		count[v.Fate]++
	}
	if o.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		if err := e.Encode(verdicts); err != nil {
			return err
		}
	} else {
		for _, v := range verdicts {
			if v.Fate == score.Alive {
				fmt.Fprintln(w, v)
			}
		}
		fmt.Fprintf(w, "%d mutants: %d killed by a test, %d without an end, %d alive; %d more do not compile\n",
			len(verdicts)-count[score.Invalid], count[score.Killed], count[score.Endless], count[score.Alive], count[score.Invalid])
	}
	if n := count[score.Alive]; n > 0 {
		return fmt.Errorf("%d mutants live: write the test that notices each, or take out the code that makes no difference", n)
	}
	return nil
}
