package trial_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/infra/gate/mutant"
	"triad/infra/gate/trial"
)

const root = "../../.."

// same changes nothing, so nothing may find it.
func same(name string, in mutant.Test) mutant.Mutant {
	const text = "package memstore"
	return mutant.Mutant{Name: name, File: "shared/store/memstore/walk.go", Before: text, After: text, Test: in}
}

// named is a mutant of the gate.
func named(t *testing.T, name string) mutant.Mutant {
	t.Helper()
	for _, m := range mutant.All() {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("there is no mutant %q", name)
	return mutant.Mutant{}
}

// TestTheGateWorksBothWays: what is broken is found, by simulation and by tests,
// and what is not broken survives.
func TestTheGateWorksBothWays(t *testing.T) {
	t.Parallel()
	conformance := mutant.Test{Package: "shared/store/memstore", Run: "^TestConformance$"}
	gate := trial.New(trial.Config{Root: root, Seeds: 10})
	verdicts, err := gate.Run(t.Context(), []mutant.Mutant{
		named(t, "undo begins while forward steps are live"),
		named(t, "memory: the version is not checked"),
		same("nothing, simulated", mutant.Test{}),
		same("nothing, tested", conformance),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range verdicts {
		line := v.String()
		if v.Killed && v.Seeds > 0 {
			line = v.Name + ": killed by simulation" // the check is the simulation's affair
		}
		got = append(got, line)
	}
	want := []string{
		"undo begins while forward steps are live: killed by simulation",
		"memory: the version is not checked: killed by TestConformance",
		"nothing, simulated: SURVIVED 10 seeds",
		"nothing, tested: SURVIVED",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

// module writes a module of one package, whose test passes only if Works returns
// what the test wants.
func module(t *testing.T, test string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"go.mod":        "module sample\n\ngo 1.26\n",
		"it/it.go":      "package it\n\nfunc Works() bool { return true }\n",
		"it/it_test.go": "package it\n\nimport \"testing\"\n\n" + test + "\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestWhatCanNotBeTriedIsAnError(t *testing.T) {
	t.Parallel()
	const sound = `func TestIt(t *testing.T) { if !Works() { t.Fatal() } }`
	cases := map[string]struct {
		test, after, run, says string
	}{
		"a mutant that does not compile":         {sound, "return 1", "^TestIt$", `trying the mutant "m": building it`},
		"a test that fails without the mutant":   {`func TestIt(t *testing.T) { t.Fatal() }`, "return false", "^TestIt$", "TestIt fails without a mutant"},
		"what that test said":                    {`func TestIt(t *testing.T) { t.Fatal("of old") }`, "return false", "^TestIt$", "it_test.go:5: of old"},
		"a test that does not exist":             {sound, "return false", "^TestOther$", "it has no tests ^TestOther$"},
		"a test that ends without saying so":     {`func TestIt(t *testing.T) { if !Works() { panicking() } }; func panicking() { go panic("x"); select {} }`, "return false", "^TestIt$", "failed, and none says so"},
		"a text that the mutant does not find":   {sound, "", "^TestIt$", "occurs 0 times in it/it.go"},
		"a package that does not compile at all": {"func", "return false", "^TestIt$", "checking Triad as it is: building it"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := mutant.Mutant{Name: "m", File: "it/it.go", Before: "return true", After: c.after, Test: mutant.Test{Package: "it", Run: c.run}}
			if c.after == "" {
				m.Before = "return maybe"
			}
			_, err := trial.New(trial.Config{Root: module(t, c.test)}).Run(t.Context(), []mutant.Mutant{m})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want an error that says %q", err, c.says)
			}
		})
	}
}

func TestAMutantWhoseTestIsLeftOutIsLeftOut(t *testing.T) {
	t.Parallel()
	root := module(t, `func TestIt(t *testing.T) { t.Skip("no Java") }`)
	m := mutant.Mutant{Name: "m", File: "it/it.go", Before: "return true", After: "return false", Test: mutant.Test{Package: "it", Run: "^TestIt$"}}
	verdicts, err := trial.New(trial.Config{Root: root}).Run(t.Context(), []mutant.Mutant{m})
	if err != nil {
		t.Fatal(err)
	}
	if want := "LEFT OUT m: TestIt needs what is not installed"; verdicts[0].String() != want {
		t.Errorf("got %s, want %s", verdicts[0], want)
	}
}
