package docs_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/cmd/triad/command"
)

var (
	link = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	code = regexp.MustCompile("`([^`\n]+)`")
	// A command begins a line or a part of one, and ends before what follows.
	triadCommand = regexp.MustCompile(`(?m)(?:^|[\s|;(])triad((?: [^\s|;&<>()]+)+)`)
	makeCommand  = regexp.MustCompile(`(?m)^\s*make ([a-z][a-z0-9-]*)`)
	word         = regexp.MustCompile(`^[a-z][a-z-]*$`)
	flag         = regexp.MustCompile(`^--[a-z][a-z-]*`)
	testName     = regexp.MustCompile(`^(?:Test|Fuzz)[A-Z]\w+$`)
	testFunc     = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w+)\(`)
	metricName   = regexp.MustCompile(`\btriad_[a-z_]+\b`)
)

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	for _, file := range files(t, ".md") {
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
	for _, file := range files(t, ".md") {
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

// TestEveryTestExists looks for each test that a document gives as a proof, and
// TestEveryMetricExists for each metric.
func TestEveryTestExists(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, file := range files(t, ".go") {
		for _, found := range testFunc.FindAllStringSubmatch(read(t, file), -1) {
			known[found[1]] = true
		}
	}
	for _, file := range files(t, ".md") {
		for _, text := range commands(read(t, file)) {
			if testName.MatchString(text) && !known[text] {
				t.Errorf("%s: there is no test %s", file, text)
			}
		}
	}
}

func TestEveryMetricExists(t *testing.T) {
	t.Parallel()
	var known strings.Builder
	for _, file := range files(t, ".go") {
		if filepath.Base(filepath.Dir(file)) == "telemetry" {
			known.WriteString(read(t, file))
		}
	}
	for _, file := range files(t, ".md") {
		for _, text := range commands(read(t, file)) {
			for _, name := range metricName.FindAllString(text, -1) {
				if !strings.Contains(known.String(), `"`+name+`"`) {
					t.Errorf("%s: there is no metric %s", file, name)
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

// files are those of the repository with this extension.
func files(t *testing.T, ext string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ext {
			all = append(all, path)
		}
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("looking for %s files: %v, found %d", ext, err, len(all))
	}
	return all
}
