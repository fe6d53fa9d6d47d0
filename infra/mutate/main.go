// Command mutate finishes what gremlins leaves out, and gives the score.
//
// gremlins takes a mutant for covered when a block of the coverage profile holds
// it. The conditions of a switch stand in no block, so it reports theirs as NOT
// COVERED and does not run them; and in package task most rules are such
// conditions. mutate makes each of those mutants itself, in an overlay of the
// compiler, runs the tests of the package, and counts both.
//
// It reads the report that `gremlins unleash -o FILE` wrote, and exits with 1 when a
// mutant lives.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// report is what gremlins writes.
type report struct {
	Files []struct {
		Name      string   `json:"file_name"`
		Mutations []mutant `json:"mutations"`
	} `json:"files"`
}

type mutant struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

func main() {
	file := flag.String("report", "", "the report of gremlins")
	pkg := flag.String("package", "./shared/task", "the package that it mutated")
	limit := flag.Duration("limit", 2*time.Minute, "how long the tests may take with one mutant; beyond, it counts as killed")
	flag.Parse()
	if err := run(*file, *pkg, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(file, pkg string, limit time.Duration) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var r report
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	count, lived := map[string]int{}, []string{}
	for _, f := range r.Files {
		for _, m := range f.Mutations {
			if m.Status == "NOT COVERED" {
				m.Status, err = try(dir, pkg, filepath.Join(pkg, filepath.Base(f.Name)), m, limit)
				if err != nil {
					return err
				}
				fmt.Printf("%s %s at %s:%d:%d\n", m.Status, m.Type, filepath.Base(f.Name), m.Line, m.Column)
			}
			if count[m.Status]++; m.Status == "LIVED" {
				lived = append(lived, fmt.Sprintf("%s at %s:%d:%d", m.Type, filepath.Base(f.Name), m.Line, m.Column))
			}
		}
	}
	fmt.Printf("%d killed, %d timed out, %d lived, %d do not compile\n",
		count["KILLED"], count["TIMED OUT"], count["LIVED"], count["NOT VIABLE"])
	if len(lived) > 0 {
		return fmt.Errorf("these mutants live:\n  %s", strings.Join(lived, "\n  "))
	}
	return nil
}

// others are the operators that each kind of mutant puts in place of one.
var others = map[string]map[string]string{
	"CONDITIONALS_NEGATION": {"==": "!=", "!=": "==", "<=": ">", ">=": "<", "<": ">=", ">": "<="},
	"CONDITIONALS_BOUNDARY": {"<=": "<", ">=": ">", "<": "<=", ">": ">="},
	"INVERT_LOGICAL":        {"&&": "||", "||": "&&"},
	"INVERT_BITWISE":        {"<<": ">>", ">>": "<<", "&": "|", "|": "&"},
	"ARITHMETIC_BASE":       {"+": "-", "-": "+", "*": "/", "/": "*"},
	"INVERT_NEGATIVES":      {"-": "+"},
}

// try makes a mutant and runs the tests on it.
func try(dir, pkg, file string, m mutant, limit time.Duration) (status string, err error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	lines := strings.SplitAfter(string(source), "\n")
	line := lines[m.Line-1]
	rest := line[m.Column-1:]
	op := ""
	for from := range others[m.Type] {
		if strings.HasPrefix(rest, from) && len(from) > len(op) {
			op = from
		}
	}
	if op == "" {
		return "", fmt.Errorf("%s at %s:%d:%d: there is no such operator", m.Type, file, m.Line, m.Column)
	}
	lines[m.Line-1] = line[:m.Column-1] + others[m.Type][op] + rest[len(op):]
	changed, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	full, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {full: changed}})
	if err != nil {
		return "", err
	}
	if err := cmp.Or(os.WriteFile(changed, []byte(strings.Join(lines, "")), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return "", err
	}
	out, err := exec.Command("go", "test", "-overlay", overlay, "-timeout", limit.String(), pkg).CombinedOutput()
	switch {
	case err == nil:
		return "LIVED", nil
	case strings.Contains(string(out), "[build failed]"):
		return "NOT VIABLE", nil
	case strings.Contains(string(out), "panic: test timed out"):
		return "TIMED OUT", nil
	default:
		return "KILLED", nil
	}
}
