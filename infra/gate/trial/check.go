package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"triad/infra/gate/mutant"
)

// limit is how long one check may take. A mutant that hangs is to be found by a
// check that says so, and not by waiting.
const limit = 10 * time.Minute

// found is what a check says.
type found struct {
	by      []string // nothing: all is well
	said    string   // what the tests that failed printed
	seeds   int
	skipped string // why a test was left out
}

// check builds and runs what finds mutants: the simulation for the zero Test. No
// overlay means Triad as it is.
func (g *Gate) check(ctx context.Context, dir, overlay string, t mutant.Test) (found, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if t == (mutant.Test{}) || t.Package == "" {
		return g.simulate(ctx, filepath.Join(dir, "sim"), overlay)
	}
	binary := filepath.Join(dir, path.Base(t.Package)+".test")
	if err := g.build(ctx, binary, overlay, "test", "-c", "-vet=off", "-o", binary, "./"+t.Package); err != nil {
		return found{}, err
	}
	return g.test(ctx, binary, t)
}

// build calls go. An overlay is given to it in a flag of its own.
func (g *Gate) build(ctx context.Context, binary, overlay string, args ...string) error {
	if overlay != "" {
		args = slices.Insert(args, 1, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = g.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building it: %w\n%s", err, out)
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("building it: there is nothing to run: %w", err)
	}
	return nil
}

// simulate runs seeds until one fails.
func (g *Gate) simulate(ctx context.Context, binary, overlay string) (found, error) {
	if err := g.build(ctx, binary, overlay, "build", "-o", binary, "./cmd/sim"); err != nil {
		return found{}, err
	}
	// One seed after the other, so that the first that fails is always the same.
	out, text, err := g.run(ctx, exec.CommandContext(ctx, binary, "-seeds", strconv.Itoa(g.Seeds), "-from", "1", "-parallel", "1", "-json"))
	if err != nil {
		return found{}, err
	}
	var result struct {
		Violations []struct {
			Violation struct{ Rule string } `json:"violation"`
		} `json:"violations"`
		Tally struct {
			Seeds int `json:"seeds"`
		} `json:"tally"`
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return found{}, fmt.Errorf("reading what the simulation says: %w\n%s%s", err, out, text)
	}
	f := found{seeds: result.Tally.Seeds}
	for _, v := range result.Violations {
		f.by = append(f.by, v.Violation.Rule)
		f.said = fmt.Sprintf("seed %d", f.seeds)
	}
	return f, nil
}

var (
	failedTest  = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	passedTest  = regexp.MustCompile(`(?m)^--- PASS: (\S+)`)
	skippedTest = regexp.MustCompile(`(?m)^\s*--- SKIP: (\S+)`)
)

// test runs tests.
func (g *Gate) test(ctx context.Context, binary string, t mutant.Test) (found, error) {
	cmd := exec.CommandContext(ctx, binary, "-test.run", t.Run, "-test.v", "-test.timeout", (limit / 2).String())
	cmd.Dir = filepath.Join(g.Root, filepath.FromSlash(t.Package))
	out, text, err := g.run(ctx, cmd)
	if err != nil {
		return found{}, err
	}
	var f found
	for _, m := range failedTest.FindAllSubmatch(out, -1) {
		f.by = append(f.by, string(m[1]))
	}
	slices.Sort(f.by)
	f.by = slices.Compact(f.by)
	f.said = ending(slices.Concat(out, text))
	if m := skippedTest.FindSubmatch(out); m != nil {
		f.skipped = fmt.Sprintf("%s needs what is not installed", m[1])
	}
	switch {
	case bytes.Contains(slices.Concat(out, text), []byte("panic: test timed out")):
		return found{}, fmt.Errorf("the tests %s of %s don't end: name one that says what is wrong", t.Run, t.Package)
	case cmd.ProcessState.ExitCode() != 0 && len(f.by) == 0:
		return found{}, fmt.Errorf("the tests %s of %s failed, and none says so:\n%s%s", t.Run, t.Package, out, text)
	case len(f.by) == 0 && f.skipped == "" && !passedTest.Match(out):
		return found{}, fmt.Errorf("%s has no tests %s", t.Package, t.Run)
	}
	return f, nil
}

// ending is the last of what a test printed, where its failures are.
func ending(said []byte) string {
	const most = 4 << 10
	return string(bytes.TrimSpace(bytes.ToValidUTF8(said[max(0, len(said)-most):], nil)))
}

// run runs a program to its end. That it fails is no error: that is what it is
// asked for.
func (g *Gate) run(ctx context.Context, cmd *exec.Cmd) (stdout, stderr []byte, err error) {
	var out, text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &text
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		err = nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("running it: %w", errors.Join(err, ctx.Err()))
	}
	return out.Bytes(), text.Bytes(), nil
}
