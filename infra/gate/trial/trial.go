// Package trial tries mutants: it builds each by the compiler's overlay, has the
// simulation or the tests that it names run against it, and tells what found it.
//
// What has to find the mutants is first tried on Triad as it is, where it must
// find nothing: otherwise a kill would say nothing.
package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"triad/infra/gate/mutant"
)

// Budget is how many seeds may pass before a mutant counts as not found.
const Budget = 5000

// Config makes a Gate. Root is required.
type Config struct {
	// Root is the directory of the module.
	Root string
	// Seeds is how many seeds, from 1, may run against a mutant. Defaults to
	// Budget.
	Seeds int
	// Parallel is how many mutants are tried at once. Defaults to the number of
	// processors.
	Parallel int
	// Told is called with each verdict as it comes, one at a time. Defaults to
	// nothing.
	Told func(Verdict)
}

// Gate tries mutants.
type Gate struct {
	Config
	mu sync.Mutex // one verdict is told at a time
}

// New returns a Gate.
func New(c Config) *Gate {
	c.Seeds = cmp.Or(c.Seeds, Budget)
	c.Parallel = cmp.Or(c.Parallel, runtime.GOMAXPROCS(0))
	if c.Told == nil {
		c.Told = func(Verdict) {}
	}
	return &Gate{Config: c}
}

// Verdict is what became of a mutant.
type Verdict struct {
	Name string      `json:"mutant"`
	Kind mutant.Kind `json:"kind"`
	File string      `json:"file"`
	// Killed says that it was found. Otherwise it survived or, with LeftOut, was
	// not tried, since what its tests need is not installed.
	Killed  bool   `json:"killed"`
	LeftOut string `json:"leftOut,omitempty"`
	// By is the check that found it, or the tests, in order.
	By []string `json:"by,omitempty"`
	// Package is that of the tests; "" says that the simulation was asked.
	Package string `json:"package,omitempty"`
	// Seeds is how many seeds it took, or was given; 0 where tests are asked.
	Seeds int `json:"seeds,omitempty"`
}

// String is a line.
func (v Verdict) String() string {
	by := strings.Join(v.By, ", ")
	switch {
	case v.LeftOut != "":
		return fmt.Sprintf("LEFT OUT %s: %s", v.Name, v.LeftOut)
	case v.Killed && v.Seeds > 0:
		return fmt.Sprintf("%s: killed by %s at seed %d", v.Name, by, v.Seeds)
	case v.Killed:
		return fmt.Sprintf("%s: killed by %s", v.Name, by)
	case v.Seeds > 0:
		return fmt.Sprintf("%s: SURVIVED %d seeds", v.Name, v.Seeds)
	}
	return v.Name + ": SURVIVED"
}

// Run tries mutants and returns their verdicts, in the order of the mutants. The
// error is for mutants that can't be tried, and for checks that fail without one.
func (g *Gate) Run(ctx context.Context, mutants []mutant.Mutant) ([]Verdict, error) {
	dir, err := os.MkdirTemp("", "gate")
	if err != nil {
		return nil, fmt.Errorf("making room for mutants: %w", err)
	}
	defer os.RemoveAll(dir)
	missing, err := g.asItIs(ctx, dir, mutants)
	if err != nil {
		return nil, err
	}
	verdicts, faults := make([]Verdict, len(mutants)), make([]error, len(mutants))
	g.each(len(mutants), func(i int) {
		m := mutants[i]
		v := Verdict{Name: m.Name, Kind: m.Kind, File: m.File, Package: m.Test.Package, LeftOut: missing[m.Test.Package]}
		if v.LeftOut == "" {
			v, faults[i] = g.try(ctx, dir, m, v)
		}
		verdicts[i] = v
		if faults[i] == nil {
			g.tell(v)
		}
	})
	return verdicts, errors.Join(faults...)
}

func (g *Gate) tell(v Verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.Told(v)
}

// each calls f for 0 to n-1, Parallel at once.
func (g *Gate) each(n int, f func(i int)) {
	var all errgroup.Group
	all.SetLimit(g.Parallel)
	for i := range n {
		all.Go(func() error {
			f(i)
			return nil
		})
	}
	_ = all.Wait() // f keeps its errors
}

// asItIs has the checks of these mutants run without any. missing says, by
// package, what is not installed that its tests need.
func (g *Gate) asItIs(ctx context.Context, dir string, mutants []mutant.Mutant) (missing map[string]string, err error) {
	tests := map[string][]string{}
	for _, m := range mutants {
		tests[m.Test.Package] = append(tests[m.Test.Package], m.Test.Run)
	}
	packages := make([]string, 0, len(tests))
	for p := range tests {
		packages = append(packages, p)
	}
	slices.Sort(packages)
	skipped, faults := make([]string, len(packages)), make([]error, len(packages))
	g.each(len(packages), func(i int) {
		p := packages[i]
		found, err := g.check(ctx, dir, "", mutant.Test{Package: p, Run: strings.Join(slices.Compact(tests[p]), "|")})
		switch {
		case err != nil:
			faults[i] = fmt.Errorf("checking Triad as it is: %w", err)
		case len(found.by) > 0:
			faults[i] = fmt.Errorf("%s fails without a mutant, so nothing can be said of mutants: mend that first\n%s", strings.Join(found.by, ", "), found.said)
		}
		skipped[i] = found.skipped
	})
	missing = map[string]string{}
	for i, p := range packages {
		missing[p] = skipped[i]
	}
	return missing, errors.Join(faults...)
}

// try has the check of a mutant run against it.
func (g *Gate) try(ctx context.Context, dir string, m mutant.Mutant, v Verdict) (Verdict, error) {
	dir, err := os.MkdirTemp(dir, "mutant")
	if err != nil {
		return v, fmt.Errorf("making room for a mutant: %w", err)
	}
	defer os.RemoveAll(dir)
	overlay, err := m.Overlay(g.Root, dir)
	if err != nil {
		return v, err
	}
	found, err := g.check(ctx, dir, overlay, m.Test)
	if err != nil {
		return v, fmt.Errorf("trying the mutant %q: %w", v.Name, err)
	}
	v.By, v.Killed, v.Seeds = found.by, len(found.by) > 0, found.seeds
	return v, nil
}
