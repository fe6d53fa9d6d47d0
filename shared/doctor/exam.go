package doctor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/shared/engine"
	"triad/shared/store"
	"triad/shared/task"
)

const (
	// pageSize is how many rows or tasks are read at once.
	pageSize = 200
	// parallel is how many tasks are loaded at once.
	parallel = 8
	// nearlyFull is the share of MaxSize, in percent, that a record may have.
	nearlyFull = 80
)

// exam is one examination under way.
type exam struct {
	d       *Doctor
	o       Options
	now     task.Millis
	tallies map[Name]*tally
	refs    map[string]definition
}

// definition is what is known of a definition: an error when there is none, and
// the agents it names that are missing.
type definition struct {
	task.Workflow
	err     error
	missing string
}

func (d *Doctor) begin(o Options) *exam {
	e := &exam{d: d, o: o, now: task.At(d.Clock()), tallies: map[Name]*tally{}, refs: map[string]definition{}}
	for _, row := range table {
		e.tallies[row.name] = &tally{
			Check: Check{Name: row.name, Of: row.of}, todo: row.todo, examples: d.Bounds.Examples, seen: map[string]bool{},
		}
	}
	if d.Agents == nil {
		e.tallies[Agents].skip("the names of the deployment's agents are not known here")
	}
	if d.Size == nil {
		e.tallies[Sizes].skip("this store does not tell how large a record is")
	}
	return e
}

func (e *exam) report() Report {
	// What is looked at in each task is no more complete than the way to them.
	index, walked := &e.tallies[Index].Check, &e.tallies[Unindexed].Check
	for _, name := range []Name{Definitions, Agents, Records, Sizes} {
		t := e.tallies[name]
		if index.Status == Failed && t.Status == "" {
			t.Status, t.Why = Failed, index.Why
		}
		t.Partial = t.Status != NotChecked && (t.Partial || index.Partial || walked.Partial)
	}
	r := Report{At: e.now, Full: e.o.Full}
	for _, name := range Names() {
		r.Checks = append(r.Checks, e.tallies[name].result())
	}
	return r
}

// limit is how many tasks may be looked at.
func (e *exam) limit(routine int) int {
	if e.o.Full {
		return math.MaxInt
	}
	return routine
}

// loaded is a task as the store has it now, or the error of loading it.
type loaded struct {
	task.Task
	err error
}

// load loads the tasks of rows. What is about a single task is beside it; the
// error is that of a store that does not answer.
func (e *exam) load(ctx context.Context, rows []store.Due) ([]loaded, error) {
	all := make([]loaded, len(rows))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range rows {
		g.Go(func() error {
			t, err := e.d.Store.Load(ctx, rows[i].ID)
			all[i] = loaded{t, err}
			if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrDamaged) {
				return err
			}
			return nil
		})
	}
	return all, g.Wait()
}

// unreadable notes a record that can't be read, and reports whether it can't.
func (e *exam) unreadable(id task.ID, err error) bool {
	if !errors.Is(err, store.ErrDamaged) {
		return false
	}
	e.tallies[Records].Looked++
	e.tallies[Records].find(id, err.Error())
	return true
}

// look examines one record by itself. Any version that was ever committed has to
// pass, so it need not be the latest.
func (e *exam) look(t task.Task) {
	w := e.definition(t.Workflow)
	if !t.State.Finished() {
		e.lookForParts(t, w)
	}
	e.lookAtSize(t)
	if w.err != nil {
		return // it is only known what is right together with the definition
	}
	e.tallies[Records].Looked++
	// A clock that is behind those of the engines must not make a fault, nor one
	// that goes on during the examination.
	faults := task.Verify(w.Workflow, t, task.At(e.d.Clock()).Add(e.d.Bounds.Overdue))
	if len(faults) > 0 {
		text := faults[0].String()
		if len(faults) > 1 {
			text += fmt.Sprintf(", and %d more", len(faults)-1)
		}
		e.tallies[Records].find(t.ID, fmt.Sprintf("version %d: %s", t.Version, text))
	}
}

// lookForParts looks for the definition and the agents of an unfinished task.
func (e *exam) lookForParts(t task.Task, w definition) {
	definitions, agents := e.tallies[Definitions], e.tallies[Agents]
	switch {
	case w.err == nil:
		definitions.Looked++
	case errors.Is(w.err, engine.ErrNoWorkflow):
		definitions.Looked++
		definitions.find(t.ID, fmt.Sprintf("it is %s and pinned to %s, which is not there", t.State, t.Workflow))
	default:
		definitions.fail(w.err)
	}
	if agents.Status == NotChecked || w.err != nil {
		return
	}
	agents.Looked++
	if w.missing != "" {
		agents.find(t.ID, fmt.Sprintf("it is %s, and %s", t.State, w.missing))
	}
}

func (e *exam) lookAtSize(t task.Task) {
	sizes := e.tallies[Sizes]
	if sizes.Status != "" {
		return
	}
	n, err := e.d.Size(t)
	if err != nil {
		sizes.fail(fmt.Errorf("measuring task %s: %w", t.ID, err))
		return
	}
	sizes.Looked++
	if n*100 > e.d.MaxSize*nearlyFull {
		sizes.find(t.ID, fmt.Sprintf("its record has %d bytes, at most %d are possible", n, e.d.MaxSize))
	}
}

// definition finds a definition once.
func (e *exam) definition(ref string) definition {
	if d, known := e.refs[ref]; known {
		return d
	}
	var d definition
	if d.Workflow, d.err = e.d.Workflows.Workflow(ref); d.err == nil {
		for _, s := range d.Steps {
			if s.Agent != "" && !slices.Contains(e.d.Agents, s.Agent) && d.missing == "" {
				d.missing = fmt.Sprintf("step %s of %s names the agent %q, which this deployment does not have", s.Name, ref, s.Agent)
			}
		}
	}
	e.refs[ref] = d
	return d
}

// pause lets the index catch up.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
