package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/catalog"
	"triad/shared/doctor"
	"triad/shared/engine/enginetest"
	"triad/shared/store"
	"triad/shared/task"
)

// set is a statement that changes a part of a task's record.
func set(id, path, value string) string {
	return "UPDATE tasks SET record = json_set(record, '$." + path + "', json('" + value + "')) WHERE id = '" + id + "'"
}

// TestEachDamageIsFound does exactly one thing wrong to a sound deployment, and
// wants every check that can know of it, and no other, to find it.
func TestEachDamageIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(*deployment)
		want   map[doctor.Name]string // a part of the finding, by check
	}{
		"nothing": {func(*deployment) {}, nil},
		"no Supervisor came for six minutes": {
			func(d *deployment) { d.Clock.Advance(6 * minute) },
			map[doctor.Name]string{doctor.Overdue: "live: it is Processing, and its CompleteBy"},
		},
		"no Supervisor came for four minutes": {func(d *deployment) { d.Clock.Advance(4 * minute) }, nil},
		"a held task has waited for two hours": {
			func(d *deployment) {
				d.Lose()
				d.Hold = true
				p := d.Start("two")
				for d.Deliver(p) {
				}
				d.Submit(p, "held")
				d.Clock.Advance(120 * minute)
				d.config.Bounds.Overdue = 180 * minute
			},
			map[doctor.Name]string{doctor.Held: "held: it is Pending"},
		},
		"the index has a task too late": {
			func(d *deployment) { d.damage("UPDATE tasks SET due = due + 5000 WHERE id = 'live'") },
			map[doctor.Name]string{doctor.Index: "live: the index has it at", doctor.Unindexed: "live: it is Processing with CompleteBy"},
		},
		"the index has a task too early": {
			func(d *deployment) { d.damage("UPDATE tasks SET due = due - 5000 WHERE id = 'live'") },
			map[doctor.Name]string{doctor.Index: "live: the index has it at"},
		},
		"the index has a task that has ended": {
			func(d *deployment) { d.damage("UPDATE tasks SET due = 1700000000000 WHERE id = 'done'") },
			map[doctor.Name]string{doctor.Index: "done: the index has it at 2023-11-14T22:13:20.000Z, and by its record, which is Processed"},
		},
		"the index has a task in another shard": {
			func(d *deployment) { d.damage("UPDATE tasks SET shard = -1 WHERE id = 'live'") },
			map[doctor.Name]string{doctor.Index: "live: the index has it in shard -1", doctor.Unindexed: "live: it is Processing in shard 0, and the index has it in shard -1"},
		},
		"the index has lost a task": {
			func(d *deployment) { d.damage("UPDATE tasks SET due = 0 WHERE id = 'live'") },
			map[doctor.Name]string{doctor.Unindexed: "live: it is Processing, and the index does not have it"},
		},
		"nobody sweeps the shard of a task": {
			func(d *deployment) { d.damage("UPDATE tasks SET shard = 7 WHERE id = 'live'", set("live", "h", "7")) },
			map[doctor.Name]string{doctor.Unindexed: "live: it is Processing in shard 7, and the Supervisors sweep 1"},
		},
		"a definition was taken away": {
			func(d *deployment) { d.config.Workflows = catalog.New() },
			map[doctor.Name]string{doctor.Definitions: "live: it is Processing and pinned to order@1, which is not there"},
		},
		"an agent was taken away": {
			func(d *deployment) { d.config.Agents = agents()[:3] },
			map[doctor.Name]string{doctor.Agents: `live: it is Processing, and step ship of order@1 names the agent "shipping"`},
		},
		"a live step lost its owner": {
			func(d *deployment) { d.damage(set("live", "st[0].l", `""`)) },
			map[doctor.Name]string{doctor.Records: "live: version 1: its LockedBy is"},
		},
		"a finished task has work left": {
			func(d *deployment) { d.damage(set("done", "st[3].s", `"Processing"`)) },
			map[doctor.Name]string{doctor.Records: "done: version 6: step ship: it is Processing, and the task Processed"},
		},
		"a failed task counts wrong": {
			func(d *deployment) { d.damage(set("failed", "f", "9")) },
			map[doctor.Name]string{doctor.Records: "failed: version 6: its FailureCount is 9"},
		},
		"a record can't be read": {
			func(d *deployment) { d.damage("UPDATE tasks SET record = '{' WHERE id = 'live'") },
			map[doctor.Name]string{doctor.Records: "live: loading task live: stored data is damaged"},
		},
		"a finished record can't be read": {
			func(d *deployment) { d.damage("UPDATE tasks SET record = '{' WHERE id = 'done'") },
			map[doctor.Name]string{doctor.Records: "done: stored data is damaged"},
		},
		"a record in Error can't be read": {
			func(d *deployment) { d.damage("UPDATE tasks SET record = '{' WHERE id = 'failed'") },
			map[doctor.Name]string{doctor.Records: "failed: stored data is damaged"},
		},
		"an order is missing": {
			func(d *deployment) {
				d.damage("DELETE FROM orders WHERE seq = (SELECT seq FROM tasks WHERE id = 'live')")
			},
			map[doctor.Name]string{doctor.Records: "its order is missing"},
		},
		"a record is nearly as large as can be": {
			func(d *deployment) {
				d.config.Size = func(v task.Task) (int, error) { return map[task.ID]int{"live": 81}[v.ID], nil }
				d.config.MaxSize = 100
			},
			map[doctor.Name]string{doctor.Sizes: "live: its record has 81 bytes, at most 100 are possible"},
		},
		"a message was rejected": {
			func(d *deployment) {
				if err := d.store.Reject(context.Background(), store.Rejected{Queue: "submissions", Body: []byte("?"), Reason: "no JSON"}); err != nil {
					d.t.Fatal(err)
				}
			},
			map[doctor.Name]string{doctor.DeadLetters: "rejected: messages waiting: 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deploy(t)
			c.damage(d)
			r := d.examine(doctor.Options{Full: true})
			for _, got := range r.Checks {
				want, wanted := c.want[got.Name]
				if wanted != (got.Status == doctor.Found) || wanted && got.Action == "" || got.Status == doctor.Failed {
					t.Errorf("check %s is %s (%s), found wanted %v", got.Name, got.Status, got.Why, wanted)
				}
				if wanted && !strings.Contains(lines(r), want) {
					t.Errorf("no finding of %s has %q in\n%s", got.Name, want, lines(r))
				}
			}
			if r.Healthy() != (len(c.want) == 0) || r.Findings() != len(c.want) {
				t.Errorf("healthy: %v, with %d findings, want %d:\n%s", r.Healthy(), r.Findings(), len(c.want), lines(r))
			}
		})
	}
}

// TestDamageOfTheFileIsFoundWhenAskedFor overwrites pages of orders that the
// running store has in no cache.
func TestDamageOfTheFileIsFoundWhenAskedFor(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	filler := `{"total": 1, "note": "` + strings.Repeat("x", 150_000) + `"}`
	for n := range 80 {
		sub := enginetest.Submission(task.ID("large-" + string(rune('a'+n%26)) + string(rune('a'+n/26))))
		sub.Order = []byte(filler)
		if _, err := d.process.Submission.Submit(context.Background(), sub); err != nil {
			t.Fatal(err)
		}
	}
	d.damage() // the log goes into the file
	if got := find(t, d.examine(doctor.Options{Integrity: true}), doctor.Integrity); got.Status != doctor.OK {
		t.Errorf("a sound file: %+v", got)
	}
	f, err := os.OpenFile(filepath.Clean(d.path), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(strings.Repeat("\xff", 1<<20)), 2<<20); err != nil {
		t.Fatal(err)
	}
	asked := find(t, d.examine(doctor.Options{Integrity: true}), doctor.Integrity)
	if asked.Status != doctor.Found || !strings.Contains(asked.Examples[0].What, "damaged") {
		t.Errorf("a damaged file: %+v", asked)
	}
	want := doctor.Check{Name: doctor.Integrity, Of: "files", Status: doctor.NotChecked, Why: "it reads the whole file: ask for it"}
	if diff := cmp.Diff(want, find(t, d.examine(doctor.Options{}), doctor.Integrity)); diff != "" {
		t.Errorf("when it is not asked for (-want +got):\n%s", diff)
	}
}

// TestATaskThatTheIndexLostIsPutBack does what docs/operations.md says.
func TestATaskThatTheIndexLostIsPutBack(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.damage("UPDATE tasks SET due = 0 WHERE id = 'live'")
	d.damage("UPDATE tasks SET due = json_extract(record, '$.by'), shard = coalesce(json_extract(record, '$.h'), 0) WHERE id = 'live'")
	if r := d.examine(doctor.Options{Full: true}); !r.Healthy() {
		t.Errorf("after it was put back:\n%s", lines(r))
	}
}
