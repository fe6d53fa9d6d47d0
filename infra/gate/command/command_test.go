package command_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/infra/gate/command"
	"triad/infra/gate/mutant"
	"triad/infra/gate/trial"
)

const proof = "../../../docs/proof.md"

func names() (all []string) {
	for _, m := range mutant.All() {
		all = append(all, m.Name)
	}
	return all
}

// TestTheProofListsTheGatesMutants: the table was written by this gate.
func TestTheProofListsTheGatesMutants(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(proof)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(names(), command.Listed(string(text))); diff != "" {
		t.Errorf("docs/proof.md is stale: run `make gate UPDATE=1` (-mutants +document):\n%s", diff)
	}
	if strings.Contains(string(text), "SURVIVES") || strings.Contains(string(text), "LEFT OUT") {
		t.Error("docs/proof.md tells of mutants that were not found: run `make gate UPDATE=1`")
	}
}

func TestTheTableSaysWhatKilledEachMutant(t *testing.T) {
	t.Parallel()
	verdicts := []trial.Verdict{
		{Name: "a", Kind: mutant.Fence, Killed: true, By: []string{"S4 attempts"}, Seeds: 36},
		{Package: "shared/x", Name: "b", Kind: mutant.Undo, Killed: true, By: []string{"TestX", "TestY"}},
		{Name: "c", Kind: mutant.Index, Seeds: 5000},
		{Package: "shared/x", Name: "d", Kind: mutant.Index, LeftOut: "TestX needs what is not installed"},
	}
	want := `2 of 4 mutants are killed: 2 are left to the simulation, with up to 5000 seeds each, of which they took 5036 in all; 2 to tests.
1 were LEFT OUT.

| mutant | kind | killed by | seeds |
|---|---|---|---|
| a | fence | S4 attempts | 36 |
| b | undo | ` + "`TestX`, `TestY`" + ` in shared/x |  |
| c | index | nothing: it SURVIVES | 5000 |
| d | index | LEFT OUT: TestX needs what is not installed |  |
`
	if diff := cmp.Diff(want, command.Table(verdicts)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	file := filepath.Join(t.TempDir(), "proof.md")
	text, err := os.ReadFile(proof)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time over its own
		if err := command.Update(file, verdicts); err != nil {
			t.Fatal(err)
		}
	}
	text, _ = os.ReadFile(file)
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, command.Listed(string(text))); diff != "" {
		t.Errorf("listed after an update (-want +got):\n%s", diff)
	}
}

func TestADocumentWithoutAPlaceForTheTableIsLeftAlone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "proof.md")
	if err := os.WriteFile(file, []byte("# Proof\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := command.Update(file, nil); err == nil || !strings.Contains(err.Error(), "lacks the lines") {
		t.Errorf("got %v, want an error that says what is missing", err)
	}
	if text, _ := os.ReadFile(file); string(text) != "# Proof\n" {
		t.Errorf("the document is now %q", text)
	}
}

func TestTheVerdictsAsJSON(t *testing.T) {
	t.Parallel()
	var out, text bytes.Buffer
	if code := command.Run(t.Context(), &out, &text, []string{"-json", "-only", "^memory: the version is not checked$"}); code != 0 {
		t.Fatalf("got exit code %d: %s", code, text.String())
	}
	var got []map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("reading %s: %v", out.String(), err)
	}
	want := []map[string]any{{
		"mutant": "memory: the version is not checked", "kind": "fence", "file": "shared/store/memstore/memstore.go",
		"killed": true, "by": []any{"TestConformance"}, "package": "shared/store/memstore",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args []string
		code int
		says string
	}{
		"a mutant that a test kills":          {[]string{"-only", "^memory: locks are not checked$"}, 0, "killed by TestConformance"},
		"one that no seed of the few finds":   {[]string{"-only", "^a task is released whatever its version$", "-seeds", "1"}, 1, "1 of 1 mutants survived"},
		"a name that no mutant has":           {[]string{"-only", "^nothing$"}, 1, "no mutant has a name"},
		"a regular expression that is none":   {[]string{"-only", "("}, 1, "-only: error parsing regexp"},
		"an unknown flag":                     {[]string{"-fast"}, 2, "flag provided but not defined: -fast"},
		"an argument":                         {[]string{"fence"}, 2, "only flags are taken"},
		"an update of some":                   {[]string{"-update", "-only", "fence"}, 2, "-update goes with all mutants"},
		"an update that runs only some seeds": {[]string{"-update", "-seeds", "10"}, 2, "-update goes with all mutants"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, text bytes.Buffer
			if code := command.Run(t.Context(), &out, &text, c.args); code != c.code {
				t.Errorf("got exit code %d, want %d", code, c.code)
			}
			if !strings.Contains(text.String(), c.says) {
				t.Errorf("it says %q, want %q", text.String(), c.says)
			}
		})
	}
}
