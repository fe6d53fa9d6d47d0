package dynamostore_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"triad/shared/store/dynamostore"
	"triad/shared/task"
)

// TestReferenceOrderStaysInOneKilobyteWhateverHappens: whatever fails, is undone,
// cancelled, paused and resubmitted, as long as what has to be told of it is not
// too long. A record has up to three such texts: why the task failed, the error
// of the step that did, and that of an undo that fails as well.
func TestReferenceOrderStaysInOneKilobyteWhateverHappens(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text  int                       // the longest, bytes
		leave func(task.StepState) bool // records with such a step are left out
		most  int
	}{
		"texts of 96 bytes":              {96, func(task.StepState) bool { return false }, kilobyte},
		"full texts, but no undo failed": {task.MaxError, func(s task.StepState) bool { return s.Undo && s.Error != "" }, kilobyte},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			most := 0
			for seed := range uint64(3_000) {
				j := &journey{w: reference(), random: rand.New(rand.NewPCG(seed, 2)), now: created,
					text: strings.Repeat("e", test.text), output: json.RawMessage(`{"id":"res-8f3a2c91","ok":true}`)}
				j.commit = func(d task.Decision) {
					if slices.ContainsFunc(d.Task.Steps, test.leave) {
						return
					}
					n, err := dynamostore.Size(cutTexts(d.Task, test.text), keep)
					if most = max(most, n); err != nil || n > test.most {
						t.Fatalf("seed %d: the item has %d bytes, want at most %d (error %v):\n%+v", seed, n, test.most, err, d.Task)
					}
				}
				j.submit("order-2026-10-17-000001")
				for range 100 {
					j.event()
				}
			}
			t.Logf("the largest item had %d bytes", most)
		})
	}
}

// cutTexts cuts what a record tells of failures.
func cutTexts(v task.Task, at int) task.Task {
	v = v.Clone()
	v.Reason = fmt.Sprintf("%.*s", at, v.Reason)
	for i := range v.Steps {
		v.Steps[i].Error = fmt.Sprintf("%.*s", at, v.Steps[i].Error)
	}
	return v
}
