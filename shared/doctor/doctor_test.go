package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/doctor"
	"triad/shared/engine/enginetest"
	"triad/shared/store"
	"triad/shared/task"
)

// hazy is a store whose index shows what the test wants.
type hazy struct {
	store.Store
	due func(q store.DueQuery, page store.DuePage) (store.DuePage, error)
}

func (h hazy) Due(ctx context.Context, q store.DueQuery) (store.DuePage, error) {
	page, err := h.Store.Due(ctx, q)
	if err == nil && h.due != nil {
		return h.due(q, page)
	}
	return page, err
}

// TestAnIndexThatLagsIsNoFault has the index show, for a while, a task that is
// gone from it; beyond Lag that is a finding.
func TestAnIndexThatLagsIsNoFault(t *testing.T) {
	t.Parallel()
	for behind, want := range map[time.Duration]doctor.Status{0: doctor.OK, 4 * time.Second: doctor.OK, 6 * time.Second: doctor.Found} {
		synctest.Test(t, func(t *testing.T) {
			r := enginetest.New(t)
			r.Submit(r.Start("one"), "o-1")
			began := time.Now()
			row := store.Due{ID: "ghost", CompleteBy: task.At(r.Clock.Now())}
			d := doctor.New(doctor.Config{Workflows: r.Catalog, Clock: r.Clock.Now, Lag: 5 * time.Second,
				Store: hazy{r.Memory, func(q store.DueQuery, page store.DuePage) (store.DuePage, error) {
					if q.Shard == 0 && time.Since(began) < behind {
						page.Rows = append([]store.Due{row}, page.Rows...)
					}
					return page, nil
				}}})
			got := find(t, examine(t, d, doctor.Options{}), doctor.Index)
			if got.Status != want {
				t.Errorf("an index that is %v behind: %s, %v", behind, got.Status, got.Examples)
			}
			if want == doctor.Found && got.Examples[0].What != "the index has it, and there is no such task" {
				t.Errorf("got %v", got.Examples)
			}
		})
	}
}

// TestRoutineExaminationsComeToEverythingInTime finds damage at either end of
// many tasks, with bounds far below their number.
func TestRoutineExaminationsComeToEverythingInTime(t *testing.T) {
	t.Parallel()
	const tasks = 40
	for name, c := range map[string]struct {
		damage string
		check  doctor.Name
	}{
		"in the index, the last":  {"UPDATE tasks SET due = due - 1 WHERE id = 'o-39'", doctor.Index},
		"in the index, the first": {"UPDATE tasks SET due = due - 1 WHERE id = 'o-00'", doctor.Index},
		"in the table, the first": {"UPDATE tasks SET due = 0 WHERE id = 'o-00'", doctor.Unindexed},
		"in the table, the last":  {"UPDATE tasks SET due = 0 WHERE id = 'o-39'", doctor.Unindexed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deploy(t)
			for n := range tasks {
				d.Submit(d.process, task.ID(fmt.Sprintf("o-%02d", n)))
				d.Clock.Advance(time.Millisecond)
			}
			d.damage(c.damage)
			d.config.Bounds = doctor.Bounds{Tasks: 7, Walked: 7}
			routine, found := d.doctor(), 0
			for range 2 * (tasks/7 + 2) {
				got := find(t, examine(t, routine, doctor.Options{}), c.check)
				if !got.Partial || got.Looked > 7 {
					t.Errorf("looked at %d, partial %v; want 7 at most, and to know it", got.Looked, got.Partial)
				}
				found += got.Found
			}
			if found < 1 {
				t.Error("the damage was not found")
			}
		})
	}
}

// TestWhatIsNotLookedAtIsNotGreen takes away, one by one, what the checks need.
func TestWhatIsNotLookedAtIsNotGreen(t *testing.T) {
	t.Parallel()
	r := enginetest.New(t)
	r.Submit(r.Start("one"), "o-1")
	d := doctor.New(doctor.Config{Store: r.Memory, Workflows: r.Catalog, Clock: r.Clock.Now})
	report := examine(t, d, doctor.Options{Full: true, Integrity: true})
	got := map[doctor.Name]string{}
	for _, c := range report.Checks {
		if c.Status != doctor.OK {
			got[c.Name] = fmt.Sprintf("%s: %s", c.Status, c.Why)
		}
	}
	want := map[doctor.Name]string{
		doctor.Unindexed:   "not checked: the only list of unfinished tasks is the index itself; this takes a walk through the whole store, and there is none here",
		doctor.Agents:      "not checked: the names of the deployment's agents are not known here",
		doctor.Sizes:       "not checked: this store does not tell how large a record is",
		doctor.DeadLetters: "not checked: the queues are not known here",
		doctor.Integrity:   "not checked: the store's files are not ours to check",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("checks that are not ok (-want +got):\n%s", diff)
	}
	if !report.Healthy() {
		t.Errorf("what can't be checked counts as wrong:\n%s", lines(report))
	}
	unwalked := doctor.New(doctor.Config{Store: r.Memory, Walker: r.Memory, Workflows: r.Catalog, Clock: r.Clock.Now, Bounds: doctor.Bounds{Walked: -1}})
	if c := find(t, examine(t, unwalked, doctor.Options{}), doctor.Unindexed); c.Status != doctor.NotChecked {
		t.Errorf("without a walk: %+v", c)
	}
	if c := find(t, examine(t, unwalked, doctor.Options{Full: true}), doctor.Unindexed); c.Status != doctor.OK || c.Looked != 1 || c.Partial {
		t.Errorf("a full examination: %+v", c)
	}
}

var errDown = errors.New("no answer")

// TestAStoreThatDoesNotAnswerIsNotGreen: each check that depends on it has
// failed, also those of the tasks behind an index that can't be read.
func TestAStoreThatDoesNotAnswerIsNotGreen(t *testing.T) {
	t.Parallel()
	down := func(store.DueQuery, store.DuePage) (store.DuePage, error) { return store.DuePage{}, errDown }
	for name, c := range map[string]struct {
		config func(*enginetest.Rig, *doctor.Config)
		want   []doctor.Name
	}{
		"the index": {
			func(r *enginetest.Rig, c *doctor.Config) { c.Store = hazy{r.Memory, down} },
			[]doctor.Name{doctor.Overdue, doctor.Held, doctor.Index, doctor.Definitions, doctor.Agents, doctor.Records, doctor.Sizes},
		},
		"the tasks": {
			func(r *enginetest.Rig, c *doctor.Config) {
				r.Table.Read = func(task.ID) error { return errDown }
				c.Store = r.Table
				r.Clock.Advance(10 * minute)
			},
			[]doctor.Name{doctor.Overdue, doctor.Index, doctor.Definitions, doctor.Agents, doctor.Records, doctor.Sizes},
		},
		"the walk": {
			func(_ *enginetest.Rig, c *doctor.Config) { c.Walker = broken{} },
			[]doctor.Name{doctor.Unindexed},
		},
		"the queues": {
			func(_ *enginetest.Rig, c *doctor.Config) {
				c.DeadLetters = func(context.Context) (map[string]int, error) { return nil, errDown }
			},
			[]doctor.Name{doctor.DeadLetters},
		},
		"the definitions": {
			func(_ *enginetest.Rig, c *doctor.Config) { c.Workflows = broken{} },
			[]doctor.Name{doctor.Definitions},
		},
		"the file": {
			func(_ *enginetest.Rig, c *doctor.Config) {
				c.Integrity = func(context.Context) error { return errDown }
			},
			[]doctor.Name{doctor.Integrity},
		},
		"the size": {
			func(_ *enginetest.Rig, c *doctor.Config) { c.Size = func(task.Task) (int, error) { return 0, errDown } },
			[]doctor.Name{doctor.Sizes},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := enginetest.New(t)
			r.Submit(r.Start("one"), "o-1")
			config := doctor.Config{Store: r.Memory, Workflows: r.Catalog, Agents: agents(), Clock: r.Clock.Now,
				Size: func(task.Task) (int, error) { return 1, nil }, MaxSize: 10}
			c.config(r, &config)
			report := examine(t, doctor.New(config), doctor.Options{Full: true, Integrity: true})
			var got []doctor.Name
			for _, c := range report.Checks {
				if c.Status == doctor.Failed {
					got = append(got, c.Name)
				}
				if c.Status == doctor.Failed && !strings.Contains(c.Why, errDown.Error()) {
					t.Errorf("check %s has failed because %q", c.Name, c.Why)
				}
			}
			if !slices.Equal(got, c.want) || report.Healthy() {
				t.Errorf("failed: %v, healthy %v; want %v", got, report.Healthy(), c.want)
			}
		})
	}
}

// broken does not answer.
type broken struct{}

func (broken) Walk(context.Context, string, int) (store.WalkPage, error) {
	return store.WalkPage{}, errDown
}

func (broken) Workflow(string) (task.Workflow, error) { return task.Workflow{}, errDown }

func TestExamplesAreFewAndTheCountIsWhole(t *testing.T) {
	t.Parallel()
	r := enginetest.New(t)
	p := r.Start("one")
	for n := range 450 { // more than two pages
		r.Submit(p, task.ID(fmt.Sprintf("o-%d", n)))
	}
	r.Clock.Advance(10 * minute)
	for limit, want := range map[int]doctor.Check{
		0:   {Found: 450},
		300: {Found: 300, Partial: true},
	} {
		d := doctor.New(doctor.Config{Store: r.Memory, Workflows: r.Catalog, Clock: r.Clock.Now, Bounds: doctor.Bounds{Tasks: limit, Examples: 3}})
		got := find(t, examine(t, d, doctor.Options{}), doctor.Overdue)
		if got.Found != want.Found || got.Partial != want.Partial || len(got.Examples) != 3 {
			t.Errorf("limit %d: found %d, partial %v, %d examples; want %d, %v and 3", limit, got.Found, got.Partial, len(got.Examples), want.Found, want.Partial)
		}
	}
}

func TestAnExaminationEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := enginetest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	d := doctor.New(doctor.Config{Workflows: r.Catalog, Store: hazy{r.Memory, func(_ store.DueQuery, page store.DuePage) (store.DuePage, error) {
		cancel()
		return page, nil
	}}})
	if _, err := d.Examine(ctx, doctor.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}

func TestAnExaminationWaitsForAnother(t *testing.T) {
	t.Parallel()
	r := enginetest.New(t)
	inside, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d := doctor.New(doctor.Config{Workflows: r.Catalog, Store: hazy{r.Memory, func(_ store.DueQuery, page store.DuePage) (store.DuePage, error) {
		once.Do(func() { close(inside); <-proceed })
		return page, nil
	}}})
	first := make(chan error)
	go func() {
		_, err := d.Examine(context.Background(), doctor.Options{})
		first <- err
	}()
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Examine(ctx, doctor.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the second: got error %v, want %v", err, context.Canceled)
	}
	close(proceed)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestAnErrorHasTheNextExaminationBeginAnew: a place that can't be read can't
// keep the doctor from all others for ever.
func TestAnErrorHasTheNextExaminationBeginAnew(t *testing.T) {
	t.Parallel()
	r := enginetest.New(t)
	p := r.Start("one")
	for n := range 5 {
		r.Submit(p, task.ID(fmt.Sprintf("o-%d", n)))
		r.Clock.Advance(time.Millisecond)
	}
	d := doctor.New(doctor.Config{Workflows: r.Catalog, Clock: r.Clock.Now, Bounds: doctor.Bounds{Tasks: 2},
		Store: hazy{r.Memory, func(q store.DueQuery, page store.DuePage) (store.DuePage, error) {
			if q.Cursor != "" {
				return page, errDown
			}
			return page, nil
		}}})
	var got []doctor.Status
	for range 4 {
		got = append(got, find(t, examine(t, d, doctor.Options{}), doctor.Index).Status)
	}
	if diff := cmp.Diff([]doctor.Status{doctor.OK, doctor.Failed, doctor.OK, doctor.Failed}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
