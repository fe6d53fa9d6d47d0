// Package docs_test holds the documents against the program: what they tell a
// reader to do works, and what they name exists.
package docs_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"triad/infra/port"
)

// root is the root of the repository.
const root = ".."

// block is one fenced block of a document.
type block struct {
	kind string // the word after the fence
	line int    // of the fence, from 1
	text string
}

// blocks returns the fenced blocks of a document, in order.
func blocks(document string) []block {
	var all []block
	inside := false
	for i, line := range strings.SplitAfter(document, "\n") {
		kind, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && !inside:
			all, inside = append(all, block{kind: kind, line: i + 1}), true
		case fence:
			inside = false
		case inside:
			all[len(all)-1].text += line
		}
	}
	return all
}

// TestTutorialWorksAsWritten runs the sh blocks of the tutorial in one shell,
// and looks for the text block behind each in what it printed.
func TestTutorialWorksAsWritten(t *testing.T) {
	t.Parallel()
	needs(t, "bash", "curl", "python3", "go")
	document := read(t, "tutorial.md")
	bin, work := t.TempDir(), t.TempDir()
	build(t, filepath.Join(bin, "triad"))

	var script strings.Builder
	var ran, promised []block
	for _, b := range blocks(document) {
		switch b.kind {
		case "sh":
			fmt.Fprintf(&script, "printf '%s\\n'\n%s", marker(len(ran)), b.text)
			ran, promised = append(ran, b), append(promised, block{})
		case "text":
			promised[len(ran)-1] = b
		}
	}
	printed := run(t, work, script.String(),
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"TRIAD_PORT="+freePort(t), "SERVICE_PORT="+freePort(t))
	for i, b := range ran {
		_, output, _ := strings.Cut(printed, marker(i)+"\n")
		output, _, _ = strings.Cut(output, marker(i+1)+"\n")
		if missing, line := firstMissing(promised[i], output); line > 0 {
			t.Errorf("tutorial.md:%d promises\n\t%s\nand the block at line %d printed\n%s", line, missing, b.line, output)
		}
	}
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("the tutorial leaves behind %v (%v)", left, err)
	}
}

func marker(n int) string { return fmt.Sprintf("@@ block %d @@", n) }

// needs skips the test where a program is missing, but never in CI.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not on the PATH: the tutorial can't be tried", p)
		}
		t.Skipf("LEFT OUT: the tutorial was NOT tried, because %s is not on the PATH", p)
	}
}

func build(t *testing.T, to string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", to, "./cmd/triad")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building triad: %v\n%s", err, out)
	}
}

// run runs a script and returns what it printed. Nothing that it started
// outlives it.
func run(t *testing.T, dir, script string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	all := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // fails when none is left
	defer all()
	cmd.Cancel = func() error { all(); return nil }
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the tutorial stops: %v; until then it printed\n%s", err, out.String())
	}
	return out.String()
}

func freePort(t *testing.T) string {
	t.Helper()
	free, err := port.Free()
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(free)
}

// firstMissing looks for the lines of a promise, in order, and returns the first
// that is not there, with its line in the document.
func firstMissing(promise block, output string) (text string, line int) {
	rest := strings.Split(output, "\n")
	for i, want := range strings.Split(strings.TrimSuffix(promise.text, "\n"), "\n") {
		at := slices.IndexFunc(rest, like(want).MatchString)
		if at < 0 {
			return want, promise.line + 1 + i
		}
		rest = rest[at+1:]
	}
	return "", 0
}

// like matches a promised line: … stands for anything, spaces for spaces.
func like(promised string) *regexp.Regexp {
	pattern := strings.Join(strings.Fields(regexp.QuoteMeta(promised)), `\s+`)
	return regexp.MustCompile(`^\s*` + strings.NewReplacer(`\s+…`, ".*", "…", ".*").Replace(pattern) + `\s*$`)
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
