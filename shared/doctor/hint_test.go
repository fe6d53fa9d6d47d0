package doctor_test

import (
	"testing"

	"triad/shared/doctor"
	"triad/shared/engine/enginetest"
	"triad/shared/store"
	"triad/shared/task"
)

// TestAnOverdueRowIsAHint has the index show a live task where it was long ago.
func TestAnOverdueRowIsAHint(t *testing.T) {
	t.Parallel()
	r := enginetest.New(t)
	live := r.Submit(r.Start("one"), "o-1")
	r.Clock.Advance(minute)
	old := task.At(r.Clock.Now()) - 7_200_000
	for name, row := range map[string]struct {
		shard int
		at    task.Millis
	}{
		"before it moved on":           {live.Shard, old},
		"when it still was held":       {task.HeldShard(live.Shard), old},
		"in a shard that it is not in": {task.HeldShard(live.Shard), live.CompleteBy},
	} {
		asked := 0
		d := doctor.New(doctor.Config{Workflows: r.Catalog, Clock: r.Clock.Now, Bounds: doctor.Bounds{Held: 1},
			Store: hazy{r.Memory, func(q store.DueQuery, page store.DuePage) (store.DuePage, error) {
				if asked++; q.Shard == row.shard && asked <= 1+task.HeldShards { // the queries for what is overdue come first
					page.Rows = []store.Due{{ID: "o-1", CompleteBy: row.at}}
				}
				return page, nil
			}}})
		if report := examine(t, d, doctor.Options{}); !report.Healthy() {
			t.Errorf("%s:\n%s", name, lines(report))
		}
	}
}

// TestARowThatIsGoneAfterItsRecordWasReadIsNoFault: the task moved meanwhile.
func TestARowThatIsGoneAfterItsRecordWasReadIsNoFault(t *testing.T) {
	t.Parallel()
	r := enginetest.New(t)
	ghost := store.Due{ID: "ghost", CompleteBy: task.At(r.Clock.Now())}
	for shown, want := range map[int]doctor.Status{1: doctor.OK, 2: doctor.OK, 3: doctor.Found} {
		left := shown
		d := doctor.New(doctor.Config{Workflows: r.Catalog, Clock: r.Clock.Now,
			Store: hazy{r.Memory, func(q store.DueQuery, page store.DuePage) (store.DuePage, error) {
				if q.Shard == 0 && q.Before >= ghost.CompleteBy && left > 0 {
					left--
					page.Rows = []store.Due{ghost}
				}
				return page, nil
			}}})
		if got := find(t, examine(t, d, doctor.Options{}), doctor.Index); got.Status != want {
			t.Errorf("shown %d times: %s %v, want %s", shown, got.Status, got.Examples, want)
		}
	}
}

// TestTasksInErrorAreLookedAtWithoutAWalk: they are in no shard of the index.
func TestTasksInErrorAreLookedAtWithoutAWalk(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.damage(set("failed", "f", "9"))
	d.config.Store = d.store
	if got := find(t, d.examine(doctor.Options{}), doctor.Records); got.Found != 1 || got.Examples[0].ID != "failed" {
		t.Errorf("got %+v", got)
	}
}
