// Package docs_test holds the documents against the program: what they tell a
// reader to do works, and what they name exists.
package docs_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
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

	"triad/cmd/triad/command"
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
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

var (
	link = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	code = regexp.MustCompile("`([^`\n]+)`")
	// A command begins a line or a part of one, and ends before what follows.
	triadCommand = regexp.MustCompile(`(?m)(?:^|[\s|;(])triad((?: [^\s|;&<>()]+)+)`)
	makeCommand  = regexp.MustCompile(`(?m)^\s*make ([a-z][a-z0-9-]*)`)
	word         = regexp.MustCompile(`^[a-z][a-z-]*$`)
	flag         = regexp.MustCompile(`^--[a-z][a-z-]*`)
)

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	for _, file := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(prose(read(t, file)), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, ":") {
				continue // another site's
			}
			path := file
			if target != "" {
				path = filepath.Join(filepath.Dir(file), target)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s: %v", file, found[1], err)
			} else if anchor != "" && !slices.Contains(anchors(read(t, path)), anchor) {
				t.Errorf("%s links to %s: %s has no such heading", file, found[1], path)
			}
		}
	}
}

// TestEveryCommandExists tries each command of the program that a document
// names, with --help, and looks for its flags there; and for each target of make.
func TestEveryCommandExists(t *testing.T) {
	t.Parallel()
	targets, _ := os.ReadFile(filepath.Join(root, "Makefile")) // missing: it has no target
	for _, file := range documents(t) {
		for _, text := range commands(read(t, file)) {
			for _, found := range triadCommand.FindAllStringSubmatch(text, -1) {
				if fault := tryHelp(t.Context(), strings.Fields(found[1])); fault != "" {
					t.Errorf("%s: triad%s: %s", file, found[1], fault)
				}
			}
			for _, found := range makeCommand.FindAllStringSubmatch(text, -1) {
				if !regexp.MustCompile(`(?m)^` + found[1] + `:`).Match(targets) {
					t.Errorf("%s: the Makefile has no target %s", file, found[1])
				}
			}
		}
	}
}

// tryHelp says what is wrong with a command line; nothing is run but its help.
func tryHelp(ctx context.Context, args []string) string {
	path := args
	if i := slices.IndexFunc(args, func(a string) bool { return !word.MatchString(a) }); i >= 0 {
		path = args[:i]
	}
	var out bytes.Buffer
	env := &command.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
		Lookup: func(string) (string, bool) { return "", false }}
	if status := command.Run(ctx, env, append(slices.Clone(path), "--help")); status != 0 {
		return out.String()
	}
	for _, a := range args {
		if name := flag.FindString(a); name != "" && !strings.Contains(out.String(), name) {
			return "there is no flag " + name
		}
	}
	return ""
}

// commands are the parts of a document that a reader may type: inline code and
// sh blocks.
func commands(document string) []string {
	var all []string
	for _, found := range code.FindAllStringSubmatch(prose(document), -1) {
		all = append(all, found[1])
	}
	for _, b := range blocks(document) {
		if b.kind == "sh" {
			all = append(all, b.text)
		}
	}
	return all
}

// prose is a document without its fenced blocks.
func prose(document string) string {
	for _, b := range blocks(document) {
		document = strings.Replace(document, "```"+b.kind+"\n"+b.text+"```", "", 1)
	}
	return document
}

// anchors are the places in a document that links may name.
func anchors(document string) []string {
	var all []string
	for line := range strings.Lines(prose(document)) {
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			title = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			all = append(all, strings.ReplaceAll(title, " ", "-"))
		}
	}
	return all
}

// documents are the Markdown files of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			all = append(all, path)
		}
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("looking for documents: %v, found %d", err, len(all))
	}
	return all
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
