package command_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/infra/mutate/command"
	"triad/infra/mutate/score"
)

// report has one mutant of this repository: what backoff compares first.
func report(t *testing.T, kind string) string {
	t.Helper()
	source, err := os.ReadFile("../../../shared/task/backoff.go")
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(string(source), "\n") {
		if column := strings.Index(line, " <= "); column >= 0 {
			file := filepath.Join(t.TempDir(), "mutants.json")
			text, err := json.Marshal(map[string]any{"files": []any{map[string]any{"file_name": "backoff.go", "mutations": []any{
				map[string]any{"type": kind, "line": n + 1, "column": column + 2},
			}}}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			return file
		}
	}
	t.Fatal("backoff.go compares nothing any more")
	return ""
}

func TestAScore(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	code := command.Run(t.Context(), &stdout, &stderr, []string{"-report", report(t, "CONDITIONALS_NEGATION")})
	if want := "1 mutants: 1 killed by a test, 0 without an end, 0 alive; 0 more do not compile\n"; code != 0 || stdout.String() != want {
		t.Errorf("code %d, stdout %q, want %q; stderr %s", code, stdout.String(), want, &stderr)
	}
	if !strings.Contains(stderr.String(), "1 of 1: shared/task/backoff.go:") {
		t.Errorf("no progress: %q", stderr.String())
	}
}

func TestAScoreAsJSON(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	code := command.Run(t.Context(), &stdout, &stderr, []string{"-json", "-report", report(t, "CONDITIONALS_NEGATION")})
	var verdicts []score.Verdict
	if err := json.Unmarshal(stdout.Bytes(), &verdicts); err != nil || code != 0 {
		t.Fatalf("code %d, error %v, stdout %s", code, err, &stdout)
	}
	if len(verdicts) != 1 || verdicts[0].Fate != score.Killed || verdicts[0].File != "shared/task/backoff.go" || verdicts[0].Change != "> for <=" {
		t.Errorf("got %+v", verdicts)
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args []string
		code int
		says string
	}{
		"no report":            {nil, 2, "-report is required"},
		"an unknown flag":      {[]string{"-x"}, 2, "flag provided but not defined"},
		"an argument":          {[]string{"-report", "f", "more"}, 2, "only flags are taken"},
		"a report that is not": {[]string{"-report", "/nowhere/f"}, 1, "no such file"},
		"no regexp":            {[]string{"-report", "f", "-only", "("}, 1, "-only: error parsing regexp"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if code := command.Run(t.Context(), &stdout, &stderr, c.args); code != c.code || !strings.Contains(stderr.String(), c.says) {
				t.Errorf("code %d, want %d; stderr %s, want %q", code, c.code, &stderr, c.says)
			}
		})
	}
	var stdout, stderr bytes.Buffer
	code := command.Run(t.Context(), &stdout, &stderr, []string{"-report", report(t, "CONDITIONALS_NEGATION"), "-only", "^nothing"})
	if code != 1 || !strings.Contains(stderr.String(), `"^nothing" fits`) {
		t.Errorf("code %d, stderr %s", code, &stderr)
	}
}
