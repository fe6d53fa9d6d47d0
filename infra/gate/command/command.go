// Package command is the command line of the gate: what it is asked, and the
// tables that it writes.
package command

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"triad/infra/gate/mutant"
	"triad/infra/gate/trial"
	"triad/infra/repository"
)

// proof is the document that has the table.
const proof = "docs/proof.md"

// The codes that Run returns.
const (
	allKilled = 0
	survived  = 1 // or could not be tried
	misused   = 2
)

type options struct {
	seeds, parallel int
	only            string
	json, update    bool
}

// Run tries the mutants that args ask for, and returns the exit code: 0 when each
// was found, 1 when one was not or could not be tried, 2 for wrong arguments.
func Run(ctx context.Context, stdout, stderr io.Writer, args []string) (code int) {
	var o options
	flags := flag.NewFlagSet("gate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.seeds, "seeds", trial.Budget, "run at most so many seeds against a mutant")
	flags.IntVar(&o.parallel, "parallel", 0, "try so many mutants at once; 0 is one for each processor")
	flags.StringVar(&o.only, "only", "", "try the mutants alone whose name, kind or file this regular expression fits")
	flags.BoolVar(&o.json, "json", false, "write the verdicts as JSON")
	flags.BoolVar(&o.update, "update", false, "write the table into "+proof)
	if err := flags.Parse(args); err != nil {
		return misused
	}
	if flags.NArg() > 0 || o.update && (o.only != "" || o.seeds != trial.Budget) {
		fmt.Fprintln(stderr, "gate: only flags are taken; -update goes with all mutants and the whole budget")
		return misused
	}
	if err := o.run(ctx, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "gate:", err)
		return survived
	}
	return allKilled
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
	told := func(v trial.Verdict) { fmt.Fprintln(stderr, v) }
	gate := trial.New(trial.Config{Root: root, Seeds: o.seeds, Parallel: o.parallel, Told: told})
	verdicts, err := gate.Run(ctx, mutants)
	if err != nil {
		return err
	}
	if err := o.report(stdout, verdicts); err != nil {
		return err
	}
	if err := judge(verdicts, o.update); err != nil || !o.update {
		return err
	}
	return Update(filepath.Join(root, proof), verdicts)
}

// mutants are those that are asked for.
func (o options) mutants() (asked []mutant.Mutant, err error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	for _, m := range mutant.All() {
		if only.MatchString(m.Name) || only.MatchString(string(m.Kind)) || only.MatchString(m.File) {
			asked = append(asked, m)
		}
	}
	if len(asked) == 0 {
		return nil, fmt.Errorf("-only: no mutant has a name, kind or file that %q fits", o.only)
	}
	return asked, nil
}

func (o options) report(w io.Writer, verdicts []trial.Verdict) error {
	if o.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(verdicts)
	}
	_, err := fmt.Fprintf(w, "\n%s", Table(verdicts))
	return err
}

// judge is the gate: an error unless each mutant was found. One that was left out
// is said loudly, and is an error when all are asked for.
func judge(verdicts []trial.Verdict, all bool) error {
	alive, untried := 0, 0
	for _, v := range verdicts {
		switch {
		case v.LeftOut != "":
			untried++
		case !v.Killed:
			alive++
		}
	}
	switch {
	case alive > 0:
		return fmt.Errorf("%d of %d mutants survived: strengthen the check or the test that should find them", alive, len(verdicts))
	case untried > 0 && (all || os.Getenv("CI") == "true"):
		return fmt.Errorf("%d of %d mutants were left out: `make standins` and `make cloud-tools` install what their tests need", untried, len(verdicts))
	}
	return nil
}
