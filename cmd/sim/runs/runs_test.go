package runs_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/cmd/sim/runs"
	"triad/shared/sim"
	"triad/shared/task"
)

var update = flag.Bool("update", false, "write the recorded runs into docs/proof.md anew")

// TestTheProofShowsTheRecordedRuns: the page has the tables of the file.
func TestTheProofShowsTheRecordedRuns(t *testing.T) {
	t.Parallel()
	all, err := runs.Load("../../../docs/runs.json")
	if err != nil {
		t.Fatal(err)
	}
	const proof = "../../../docs/proof.md"
	if *update {
		if err := runs.Part.Write(proof, runs.Table(all)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(proof)
	if err != nil {
		t.Fatal(err)
	}
	shown, found := runs.Part.In(string(text))
	if !found {
		t.Fatalf("the page lacks the lines\n%s%s", runs.Part.Begin, runs.Part.End)
	}
	if diff := cmp.Diff(runs.Table(all), shown); diff != "" {
		t.Errorf("the page does not show what is recorded:\n%s", diff)
	}
	for _, r := range all {
		if len(r.Commit) != 12 || r.Seeds == 0 || r.Tasks == 0 {
			t.Errorf("a run that proves nothing: %+v", r)
		}
	}
}

func TestRunsGoOnFromOneAnother(t *testing.T) {
	t.Parallel()
	one := func(commit string, from, seeds uint64) runs.Run {
		return runs.Run{
			Commit: commit, From: from, Seeds: seeds, Seconds: 2, Hash: runs.Hash(1 << 63), Tasks: 3,
			Ends: map[task.State]int{task.Processed: 3}, Faults: map[string]int{"queue.vanish": 5},
		}
	}
	var all []runs.Run
	for _, r := range []runs.Run{one("a", 1, 10), one("a", 11, 10), one("b", 11, 10), one("a", 31, 10)} {
		var err error
		if all, err = runs.Add(all, r); err != nil {
			t.Fatal(err)
		}
	}
	merged := one("a", 1, 20)
	merged.Seconds, merged.Hash, merged.Tasks = 4, 0, 6 // the sum of two hashes wraps around
	merged.Ends, merged.Faults = map[task.State]int{task.Processed: 6}, map[string]int{"queue.vanish": 10}
	if diff := cmp.Diff([]runs.Run{merged, one("b", 11, 10), one("a", 31, 10)}, all); diff != "" {
		t.Error(diff)
	}
	for _, again := range []runs.Run{one("a", 1, 20), one("a", 20, 1), one("a", 25, 10), one("b", 1, 100)} {
		if _, err := runs.Add(all, again); err == nil || !strings.Contains(err.Error(), "recorded already") {
			t.Errorf("seeds from %d at %s again: %v", again.From, again.Commit, err)
		}
	}

	file := filepath.Join(t.TempDir(), "runs.json")
	if err := runs.Save(file, all); err != nil {
		t.Fatal(err)
	}
	if back, err := runs.Load(file); err != nil || !cmp.Equal(all, back) {
		t.Errorf("%v\n%s", err, cmp.Diff(all, back))
	}
	if none, err := runs.Load(file + "x"); len(none) > 0 || err != nil {
		t.Errorf("a file that is not there: %v, %v", none, err)
	}
	if err := os.WriteFile(file, []byte(`[{"comit": "a"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := runs.Load(file); err == nil || !strings.Contains(err.Error(), "comit") {
		t.Errorf("a field that nobody knows: %v", err)
	}
}

func TestATableSaysWhatWasViolatedAndHowOftenEachFaultStruck(t *testing.T) {
	t.Parallel()
	var tally sim.Tally
	tally.Seeds, tally.Tasks, tally.Faults[sim.QueueVanish], tally.Faults[sim.StoreFull] = 4, 1234567, 1000, 7
	r := runs.Run{Commit: "0123456789ab", From: 1_000_001, Seconds: 2, Hash: 255, Violations: []string{"SEED=1000002: S9 effects"}}
	r.Count(&tally)
	table := runs.Table([]runs.Run{r})
	for _, want := range []string{
		"| 0123456789ab | 1,000,001 to 1,000,004 | `00000000000000ff` | 2 | 1,234,567 | 0 | 1,007 | 0 | 1 |",
		"| **together** | **4** | | | 1,234,567 |",
		"vanish 1,000", "full 7", "Processed 0, Compensated 0", "- **SEED=1000002: S9 effects**",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
}
