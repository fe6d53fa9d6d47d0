package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"triad/cmd/sim/command"
)

// run runs a command line.
func run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = command.Run(ctx, &out, &errs, args)
	return code, out.String(), errs.String()
}

func TestOneSeedTellsWhatHappened(t *testing.T) {
	t.Parallel()
	code, out, _ := run(t.Context(), "-seed", "1", "-tasks", "5", "-without", "queue.vanish,store.full")
	for _, want := range []string{"SEED=1 TASKS=5 WITHOUT=queue.vanish,store.full: no violation; hash ", "deliveries", "transitions"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("code %d; what is printed lacks %q:\n%s", code, want, out)
		}
	}
}

func TestManySeedsComeToASumThatDoesNotDependOnProcessors(t *testing.T) {
	t.Parallel()
	type result struct {
		Hash  string `json:"hash"`
		From  uint64 `json:"from"`
		Tally struct {
			Seeds  int            `json:"seeds"`
			Faults map[string]int `json:"faults"`
		} `json:"tally"`
		Violations []any `json:"violations"`
	}
	var results []result
	for _, parallel := range []string{"1", "3"} {
		code, out, errs := run(t.Context(), "-seeds", "6", "-from", "40", "-parallel", parallel, "-json")
		var r result
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 {
			t.Fatalf("code %d, %v\n%s%s", code, err, out, errs)
		}
		if !strings.Contains(errs, "6 of 6 seeds") {
			t.Errorf("no progress is shown:\n%s", errs)
		}
		if r.From != 40 || r.Tally.Seeds != 6 || len(r.Tally.Faults) == 0 || len(r.Violations) > 0 {
			t.Errorf("the result is %+v", r)
		}
		results = append(results, r)
	}
	if a, b := results[0].Hash, results[1].Hash; len(a) != 16 || a != b {
		t.Errorf("the hashes are %s and %s", a, b)
	}
	code, out, _ := run(t.Context(), "-seeds", "2")
	if code != 0 || !strings.Contains(out, "2 seeds from 1 in ") || !strings.Contains(out, "not reached: ") {
		t.Errorf("code %d:\n%s", code, out)
	}
}

func TestAnInterruptedRunIsNoSuccess(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code, _, errs := run(ctx, "-seeds", "1000000"); code != 1 || !strings.Contains(errs, "canceled") {
		t.Errorf("code %d: %s", code, errs)
	}
}

func TestWrongArgumentsAreTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"-help", 0, "-seeds 1000000 -from 1 -record"},
		{"-sead 3", 2, "not defined"},
		{"3", 2, "only flags"},
		{"-seed 1 -seeds 2", 2, "give one of them"},
		{"-seeds 2 -parallel 0", 2, "at least 1"},
		{"-seed 1 -without queue.gone", 2, `-without: there is no fault "queue.gone"`},
		{"-seed 1 -record", 2, "-record goes with -seeds"},
		{"-seeds 9 -record -calm", 2, "everything that they draw"},
		{"-seeds 9 -record", 1, "the commit is unknown"}, // a test binary has none
	} {
		if code, _, errs := run(t.Context(), strings.Fields(c.args)...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("sim %s: code %d, want %d with %q; it says\n%s", c.args, code, c.code, c.want, errs)
		}
	}
}
