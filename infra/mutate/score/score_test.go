package score_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/infra/mutate/score"
)

const (
	code = `package it

func Sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n >= 1 && n != 1<<40:
		return +1
	}
	for n > 100 {
		n--
	}
	return 0
}
`
	test = `package it

import "testing"

func TestSign(t *testing.T) {
	for n, want := range map[int]int{-7: -1, 0: 0, 1: 1, 7: 1, 1<<40: 0} {
		if n < 1<<40 && Sign(n) != want {
			t.Errorf("Sign(%d) is not %d", n, want)
		}
	}
}
`
)

// module writes a module of one package.
func module(t *testing.T, test string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{"go.mod": "module sample\n\ngo 1.26\n", "it/it.go": code, "it/it_test.go": test} {
		write(t, filepath.Join(root, name), text)
	}
	return root
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestEachMutantHasItsFate(t *testing.T) {
	t.Parallel()
	at := func(kind string, line, column int) score.Mutant {
		return score.Mutant{Kind: kind, File: "it/it.go", Line: line, Column: column}
	}
	told := 0
	verdicts, err := score.Run(t.Context(), score.Config{Root: module(t, test), Package: "it", Told: func(score.Verdict) { told++ }}, []score.Mutant{
		at("CONDITIONALS_BOUNDARY", 5, 9),
		at("CONDITIONALS_NEGATION", 7, 9),
		at("INVERT_NEGATIVES", 6, 10),
		at("INVERT_BITWISE", 7, 23),
		at("CONDITIONALS_BOUNDARY", 10, 8),
		at("ARITHMETIC_BASE", 8, 10),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range verdicts {
		got = append(got, v.String())
	}
	want := []string{
		"it/it.go:5:9: CONDITIONALS_BOUNDARY (<= for <) killed",
		"it/it.go:7:9: CONDITIONALS_NEGATION (< for >=) killed",
		"it/it.go:6:10: INVERT_NEGATIVES (+ for -) killed",
		"it/it.go:7:23: INVERT_BITWISE (>> for <<) alive",
		"it/it.go:10:8: CONDITIONALS_BOUNDARY (>= for >) alive",
		"it/it.go:8:10: ARITHMETIC_BASE (- for +) killed",
	}
	if diff := cmp.Diff(want, got); diff != "" || told != len(want) {
		t.Errorf("told %d, want %d; verdicts (-want +got):\n%s", told, len(want), diff)
	}
}

func TestAMutantWithoutAnEndIsStopped(t *testing.T) {
	t.Parallel()
	// Counted the wrong way, it never gets there.
	root := module(t, strings.Replace(test, "n < 1<<40 && ", "", 1))
	verdicts, err := score.Run(t.Context(), score.Config{Root: root, Package: "it", Limit: 1}, []score.Mutant{
		{Kind: "INCREMENT_DECREMENT", File: "it/it.go", Line: 11, Column: 4},
	})
	if err != nil || verdicts[0].Fate != score.Endless {
		t.Errorf("got %v, error %v", verdicts, err)
	}
}

func TestAMutantThatDoesNotCompileIsNotKilled(t *testing.T) {
	t.Parallel()
	root := module(t, test)
	write(t, filepath.Join(root, "it/text.go"), "package it\n\nvar text = \"a\" + \"b\"\n")
	verdicts, err := score.Run(t.Context(), score.Config{Root: root, Package: "it"}, []score.Mutant{
		{Kind: "ARITHMETIC_BASE", File: "it/text.go", Line: 3, Column: 16},
	})
	if err != nil || verdicts[0].Fate != score.Invalid {
		t.Errorf("got %v, error %v", verdicts, err)
	}
}

func TestWhatCanNotBeTriedIsAnError(t *testing.T) {
	t.Parallel()
	failing := "package it\n\nimport \"testing\"\n\nfunc TestIt(t *testing.T) { t.Fatal(\"of old\") }\n"
	sound := score.Mutant{Kind: "INVERT_NEGATIVES", File: "it/it.go", Line: 6, Column: 10}
	cases := map[string]struct {
		test   string
		mutant score.Mutant
		says   []string
	}{
		"tests that fail without it": {failing, sound, []string{"fail without a mutant", "of old"}},
		"no such file":               {test, score.Mutant{Kind: sound.Kind, File: "it/that.go", Line: 6, Column: 10}, []string{"it/that.go"}},
		"no such line":               {test, score.Mutant{Kind: sound.Kind, File: "it/it.go", Line: 99, Column: 1}, []string{"it/it.go:99:1", "no such place"}},
		"no such column":             {test, score.Mutant{Kind: sound.Kind, File: "it/it.go", Line: 6, Column: 99}, []string{"it/it.go:6:99", "no such place"}},
		"another operator":           {test, score.Mutant{Kind: sound.Kind, File: "it/it.go", Line: 5, Column: 9}, []string{"it/it.go:5:9", "no operator of this kind"}},
		"an unknown kind":            {test, score.Mutant{Kind: "NEW", File: "it/it.go", Line: 6, Column: 10}, []string{"NEW", "no operator of this kind"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := score.Run(t.Context(), score.Config{Root: module(t, c.test), Package: "it"}, []score.Mutant{c.mutant})
			if err == nil || slices.ContainsFunc(c.says, func(s string) bool { return !strings.Contains(err.Error(), s) }) {
				t.Errorf("got %v, want an error that says %q", err, c.says)
			}
		})
	}
}

func TestReportsOfGremlins(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		report string
		want   []score.Mutant
		says   string
	}{
		"mutants of the package": {
			`{"files": [{"file_name": "it.go", "mutations": [{"type": "A", "status": "RUNNABLE", "line": 1, "column": 2}, {"type": "B", "status": "NOT COVERED", "line": 3, "column": 4}]},
			 {"file_name": "below/it.go", "mutations": [{"type": "A", "line": 1, "column": 2}]}]}`,
			[]score.Mutant{{Kind: "A", File: "shared/it/it.go", Line: 1, Column: 2}, {Kind: "B", File: "shared/it/it.go", Line: 3, Column: 4}}, "",
		},
		"none":     {`{"files": []}`, nil, "has no mutants of shared/it"},
		"not JSON": {`files`, nil, "reading the report of gremlins"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "mutants.json")
			write(t, file, c.report)
			got, err := score.Read(file, "shared/it")
			if diff := cmp.Diff(c.want, got); diff != "" || (c.says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q; mutants (-want +got):\n%s", err, c.says, diff)
			}
		})
	}
	if _, err := score.Read(filepath.Join(t.TempDir(), "none"), "shared/it"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no report: error %v", err)
	}
}
