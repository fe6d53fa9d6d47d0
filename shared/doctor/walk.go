package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"triad/shared/store"
	"triad/shared/task"
)

// inError looks at the records of tasks in Error, which are in no shard: an
// operator may let them go on.
func (e *exam) inError(ctx context.Context) {
	left, records := e.limit(e.d.Bounds.Tasks), e.tallies[Records]
	for q := (store.ListQuery{State: task.Error}); ; {
		q.Limit = min(left, pageSize)
		page, err := e.d.Store.List(ctx, q)
		if err != nil {
			records.fail(err)
			return
		}
		for _, t := range page.Tasks {
			e.look(t)
		}
		for _, d := range page.Damaged {
			e.unreadable(d.ID, d.Err)
		}
		if left -= len(page.Tasks) + len(page.Damaged); page.Next == "" {
			return
		}
		if left <= 0 {
			records.Partial = true
			return
		}
		q.Cursor = page.Next
	}
}

// walk goes through all records, finished ones too, from where the last
// examination ended: what needs somebody to look at it has to be in the index.
func (e *exam) walk(ctx context.Context) {
	found := e.tallies[Unindexed]
	left := e.limit(e.d.Bounds.Walked)
	switch {
	case e.d.Walker == nil:
		found.skip("the only list of unfinished tasks is the index itself; this takes a walk through the whole store, and there is none here")
		return
	case left <= 0:
		found.skip("this takes a walk through the whole store: ask for a full examination")
		return
	}
	cursor := ""
	if !e.o.Full {
		cursor, e.d.at.walk = e.d.at.walk, "" // after an error the next one begins anew
	}
	from := cursor
	for left > 0 {
		page, err := e.d.Walker.Walk(ctx, cursor, min(left, pageSize))
		if err != nil {
			found.fail(err)
			return
		}
		for _, w := range page.Tasks {
			e.walked(w)
		}
		// Pages of nothing count too: a walk of them is work all the same.
		left -= max(1, len(page.Tasks))
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if !e.o.Full {
		e.d.at.walk = cursor
	}
	found.Partial = from != "" || cursor != ""
}

// walked looks at one task of a walk.
func (e *exam) walked(w store.Walked) {
	e.tallies[Unindexed].Looked++
	if w.Err != nil {
		if !e.unreadable(w.ID, w.Err) {
			e.tallies[Unindexed].fail(w.Err)
		}
		return
	}
	if text := e.lost(w); text != "" {
		e.tallies[Unindexed].find(w.ID, text)
	}
	e.look(w.Task)
}

// lost says why nobody would come to a task in time; empty when somebody will.
func (e *exam) lost(w store.Walked) string {
	t := &w.Task
	switch {
	case t.State.Finished() && !t.Owing:
		return ""
	case w.CompleteBy == 0:
		return fmt.Sprintf("it is %s, and the index does not have it", t.State)
	case t.CompleteBy != 0 && w.CompleteBy > t.CompleteBy:
		return fmt.Sprintf("it is %s with CompleteBy %s, and the index has it at %s", t.State, stamp(t.CompleteBy), stamp(w.CompleteBy))
	case w.Shard != t.Shard:
		return fmt.Sprintf("it is %s in shard %d, and the index has it in shard %d", t.State, t.Shard, w.Shard)
	}
	if t.Shard >= e.d.Shards {
		return fmt.Sprintf("it is %s in shard %d, and the Supervisors sweep %d: keep the old number until what is above has ended", t.State, t.Shard, e.d.Shards)
	}
	return ""
}

// deadLetters counts the messages that wait for an operator.
func (e *exam) deadLetters(ctx context.Context) {
	found := e.tallies[DeadLetters]
	if e.d.DeadLetters == nil {
		found.skip("the queues are not known here")
		return
	}
	counts, err := e.d.DeadLetters(ctx)
	if err != nil {
		found.fail(err)
		return
	}
	found.Looked = len(counts)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[name]; n > 0 {
			found.count(name, fmt.Sprintf("messages waiting: %d", n), n)
		}
	}
}

// integrity has the files of the store checked.
func (e *exam) integrity(ctx context.Context) {
	found := e.tallies[Integrity]
	switch {
	case e.d.Integrity == nil:
		found.skip("the store's files are not ours to check")
		return
	case !e.o.Integrity:
		found.skip("it reads the whole file: ask for it")
		return
	}
	found.Looked = 1
	switch err := e.d.Integrity(ctx); {
	case errors.Is(err, store.ErrDamaged):
		found.find("store", err.Error())
	case err != nil:
		found.fail(err)
	}
}
