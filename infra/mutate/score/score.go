// Package score tries the mutants that gremlins lists, and counts those that no
// test notices.
//
// gremlins only lists them (`unleash --dry-run`). What it would try, it takes from a
// coverage profile, whose blocks leave the conditions of a switch out: there most
// rules of package task stand. And it tries them one by one in a changed tree, with
// a limit that a mutant without an end uses up. Here a mutant is an overlay of the
// compiler, all are tried, several at once, and each is built and then run, so that
// one that does not compile is not counted as found.
package score

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/infra/gate/mutant"
)

// Mutant is one operator of a file, replaced.
type Mutant struct {
	// Kind is that of gremlins, such as CONDITIONALS_BOUNDARY.
	Kind string `json:"kind"`
	// File is its path from the root of the module.
	File string `json:"file"`
	// Line and Column, in bytes, say where; both count from 1.
	Line   int `json:"line"`
	Column int `json:"column"`
}

// String is FILE:LINE:COLUMN: KIND.
func (m Mutant) String() string { return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, m.Kind) }

// Read returns the mutants in a report that gremlins wrote on a package, which is
// its directory from the root of the module. Whether gremlins tried them does not
// matter. Those of packages below it are left out.
func Read(report, pkg string) ([]Mutant, error) {
	raw, err := os.ReadFile(report)
	if err != nil {
		return nil, fmt.Errorf("reading the report of gremlins: %w", err)
	}
	var r struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []struct {
				Type         string
				Line, Column int
			}
		}
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("reading the report of gremlins: %s: %w", report, err)
	}
	var all []Mutant
	for _, f := range r.Files {
		if strings.Contains(f.Name, "/") {
			continue
		}
		for _, m := range f.Mutations {
			all = append(all, Mutant{m.Type, filepath.ToSlash(filepath.Join(pkg, f.Name)), m.Line, m.Column})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("reading the report of gremlins: %s has no mutants of %s", report, pkg)
	}
	return all, nil
}

// Fate is what became of a mutant.
type Fate string

// The fates.
const (
	Killed  Fate = "killed"           // a test failed
	Endless Fate = "has no end"       // the tests were stopped
	Alive   Fate = "alive"            // the tests passed
	Invalid Fate = "does not compile" // nothing to try
)

// Verdict is a mutant with its fate.
type Verdict struct {
	Mutant
	// Change says what stands for what.
	Change string `json:"change"`
	Fate   Fate   `json:"fate"`
}

// String is a line.
func (v Verdict) String() string { return fmt.Sprintf("%s (%s) %s", v.Mutant, v.Change, v.Fate) }

// Config says how mutants are tried. Root and Package are required.
type Config struct {
	// Root is the directory of the module.
	Root string
	// Package is the one whose tests have to find the mutants: its directory, from
	// the root.
	Package string
	// Limit is how long the tests may take. Defaults to 20 times what they take, built
	// and run, without a mutant, and at least 20 s.
	Limit time.Duration
	// Parallel is how many are tried at once. Defaults to the number of processors.
	Parallel int
	// Told is called with each verdict as it comes, one at a time. Defaults to
	// nothing.
	Told func(Verdict)
}

// patience is how much longer than without a mutant the tests may take, and at
// least.
const (
	patience     = 20
	atLeastAfter = 20 * time.Second
)

// Run tries mutants and returns their verdicts, in the order of the mutants. The
// error is for tests that fail without one, and for mutants that can't be made.
func Run(ctx context.Context, c Config, mutants []Mutant) ([]Verdict, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, fmt.Errorf("making room for mutants: %w", err)
	}
	defer os.RemoveAll(dir)
	if c.Limit == 0 {
		if c.Limit, err = c.measure(ctx, dir); err != nil {
			return nil, err
		}
	}
	verdicts := make([]Verdict, len(mutants))
	var one sync.Mutex
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(cmp.Or(c.Parallel, runtime.GOMAXPROCS(0)))
	for i, m := range mutants {
		all.Go(func() error {
			v, err := c.try(ctx, filepath.Join(dir, fmt.Sprint(i)), m)
			if verdicts[i] = v; err != nil || c.Told == nil {
				return err
			}
			one.Lock()
			defer one.Unlock()
			c.Told(v)
			return nil
		})
	}
	return verdicts, all.Wait()
}

// measure runs the tests as they are, and returns the limit for mutants.
func (c Config) measure(ctx context.Context, dir string) (time.Duration, error) {
	began := time.Now()
	fate, said, err := c.test(ctx, dir, "", time.Hour)
	switch {
	case err != nil:
		return 0, err
	case fate != Alive:
		return 0, fmt.Errorf("the tests of %s fail without a mutant, so nothing can be said of mutants: mend that first\n%s", c.Package, said)
	}
	return max(patience*time.Since(began), atLeastAfter), nil
}

// try has the tests run on one mutant, in a directory of its own.
func (c Config) try(ctx context.Context, dir string, m Mutant) (Verdict, error) {
	v := Verdict{Mutant: m}
	source, err := os.ReadFile(filepath.Join(c.Root, filepath.FromSlash(m.File)))
	if err != nil {
		return v, fmt.Errorf("making a mutant: %w", err)
	}
	mutated, change, err := m.apply(string(source))
	if err != nil {
		return v, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return v, fmt.Errorf("making a mutant: %w", err)
	}
	defer os.RemoveAll(dir)
	overlay, err := mutant.Mutant{Name: m.String(), File: m.File, Before: string(source), After: mutated}.Overlay(c.Root, dir)
	if err != nil {
		return v, err
	}
	v.Change = change
	v.Fate, _, err = c.test(ctx, dir, overlay, c.Limit)
	return v, err
}

// test builds the tests, with an overlay or without, and runs them.
func (c Config) test(ctx context.Context, dir, overlay string, limit time.Duration) (fate Fate, said []byte, err error) {
	binary := filepath.Join(dir, "tests")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./"+c.Package)
	build.Dir = c.Root
	if said, err = build.CombinedOutput(); err != nil {
		return Invalid, said, ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tests := exec.CommandContext(limited, binary, "-test.failfast")
	tests.Dir = filepath.Join(c.Root, filepath.FromSlash(c.Package))
	said, err = tests.CombinedOutput()
	failed := (*exec.ExitError)(nil)
	switch {
	case err == nil:
		return Alive, said, nil
	case ctx.Err() != nil:
		return "", said, ctx.Err()
	case limited.Err() != nil:
		return Endless, said, nil
	case errors.As(err, &failed):
		return Killed, said, nil
	}
	return "", said, fmt.Errorf("running the tests of %s: %w", c.Package, err)
}
