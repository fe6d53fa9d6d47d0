package doctor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"triad/shared/store"
	"triad/shared/task"
)

// overdue looks, in every shard, for tasks that nobody has come to for too long.
// The record decides: its CompleteBy has passed by that much.
func (e *exam) overdue(ctx context.Context) {
	left := map[Name]int{Overdue: e.limit(e.d.Bounds.Tasks), Held: e.limit(e.d.Bounds.Tasks)}
	for _, shard := range e.d.partitions() {
		name, bound := Overdue, e.d.Bounds.Overdue
		if shard < 0 {
			name, bound = Held, e.d.Bounds.Held
		}
		if t := e.tallies[name]; t.Status != Failed {
			n, err := e.overdueIn(ctx, t, shard, bound, left[name])
			if left[name] -= n; err != nil {
				t.fail(err)
			}
		}
	}
}

func (e *exam) overdueIn(ctx context.Context, found *tally, shard int, bound time.Duration, left int) (loads int, err error) {
	found.Looked++
	q := store.DueQuery{Shard: shard, Before: e.now.Add(-bound) - 1}
	for {
		q.Limit = max(1, min(left-loads, pageSize))
		page, err := e.d.Store.Due(ctx, q)
		if err != nil {
			return loads, err
		}
		if left-loads <= 0 && len(page.Rows) > 0 {
			found.Partial = true
			return loads, nil
		}
		tasks, err := e.load(ctx, page.Rows)
		if err != nil {
			return loads, err
		}
		for i, t := range tasks {
			if !e.unreadable(page.Rows[i].ID, t.err) && t.err == nil && t.Shard == shard && t.CompleteBy != 0 && t.CompleteBy <= q.Before {
				late := time.Duration(e.now-t.CompleteBy) * time.Millisecond
				found.find(t.ID, fmt.Sprintf("it is %s, and its CompleteBy %s was %s ago", t.State, stamp(t.CompleteBy), late))
			}
		}
		if loads += len(page.Rows); page.Next == "" {
			return loads, nil
		}
		q.Cursor = page.Next
	}
}

// stamp is a time for a person.
func stamp(m task.Millis) string { return m.Time().Format("2006-01-02T15:04:05.000Z") }

// maxSuspects is how many index rows are looked at a second time.
const maxSuspects = 1_000

// suspect is a page of the index with rows that their records contradict.
type suspect struct {
	query store.DueQuery
	rows  []store.Due
}

// index goes through the index from where the last examination ended, around
// once at most, and holds each row against its record.
func (e *exam) index(ctx context.Context) {
	var at place
	if !e.o.Full {
		at, e.d.at.index = e.d.at.index, place{} // after an error the next one begins anew
	}
	parts, found := e.d.partitions(), e.tallies[Index]
	left, whole := e.limit(e.d.Bounds.Tasks), at.cursor == ""
	var suspects []suspect
	for ended, some := 0, 0; ended < len(parts); {
		if left <= 0 {
			whole = false
			break
		}
		q := store.DueQuery{Shard: parts[at.partition], Before: task.Millis(math.MaxInt64), Limit: min(left, pageSize), Cursor: at.cursor}
		page, err := e.d.Store.Due(ctx, q)
		if err != nil {
			found.fail(err)
			return
		}
		rows, err := e.contradicted(ctx, q.Shard, page.Rows)
		if err != nil {
			found.fail(err)
			return
		}
		if some += len(rows); len(rows) > 0 && some <= maxSuspects {
			suspects = append(suspects, suspect{q, rows})
		} else if len(rows) > 0 {
			whole = false
		}
		left -= len(page.Rows)
		if at.cursor = page.Next; page.Next == "" {
			at.partition = (at.partition + 1) % len(parts)
			ended++
		}
	}
	if !e.o.Full {
		e.d.at.index = at
	}
	found.Partial = !whole
	e.again(ctx, suspects)
}

// contradicted returns the rows that their records contradict, and looks at the
// records themselves.
func (e *exam) contradicted(ctx context.Context, shard int, rows []store.Due) ([]store.Due, error) {
	tasks, err := e.load(ctx, rows)
	if err != nil {
		return nil, err
	}
	var wrong []store.Due
	for i, t := range tasks {
		e.tallies[Index].Looked++
		if e.unreadable(rows[i].ID, t.err) {
			continue
		}
		if t.err == nil {
			e.look(t.Task)
		}
		if contradiction(rows[i], shard, t) != "" {
			wrong = append(wrong, rows[i])
		}
	}
	return wrong, nil
}

// contradiction says how a record contradicts its row; empty when it doesn't.
func contradiction(row store.Due, shard int, t loaded) string {
	switch {
	case errors.Is(t.err, store.ErrNotFound):
		return "the index has it, and there is no such task"
	case t.CompleteBy == 0:
		return fmt.Sprintf("the index has it at %s, and by its record, which is %s, nothing is to be done", stamp(row.CompleteBy), t.State)
	case t.Shard != shard:
		return fmt.Sprintf("the index has it in shard %d, its record in shard %d", shard, t.Shard)
	case t.CompleteBy != row.CompleteBy:
		return fmt.Sprintf("the index has it at %s, its record at %s", stamp(row.CompleteBy), stamp(t.CompleteBy))
	}
	return ""
}

// again looks once more at what the index had wrong, after it had the time to
// catch up: what is still there, and still contradicted, is reported.
func (e *exam) again(ctx context.Context, suspects []suspect) {
	if len(suspects) == 0 {
		return
	}
	if pause(ctx, e.d.Lag) != nil {
		return // Examine tells
	}
	for _, s := range suspects {
		if err := e.confirm(ctx, s); err != nil {
			e.tallies[Index].fail(err)
			return
		}
	}
}

func (e *exam) confirm(ctx context.Context, s suspect) error {
	before, err := e.present(ctx, s)
	if err != nil {
		return err
	}
	tasks, err := e.load(ctx, before)
	if err != nil {
		return err
	}
	// A task that moved between the two reads leaves its old row behind.
	after, err := e.present(ctx, suspect{s.query, before})
	if err != nil {
		return err
	}
	still := map[store.Due]bool{}
	for _, row := range after {
		still[row] = true
	}
	for i, t := range tasks {
		if text := contradiction(before[i], s.query.Shard, t); text != "" && still[before[i]] && !errors.Is(t.err, store.ErrDamaged) {
			e.tallies[Index].find(before[i].ID, text)
		}
	}
	return nil
}

// present returns those of the rows that the index still has, as they are.
func (e *exam) present(ctx context.Context, s suspect) (rows []store.Due, err error) {
	wanted, q := map[store.Due]bool{}, s.query
	q.Limit, q.Before = pageSize, 0
	for _, row := range s.rows {
		wanted[row] = true
		q.Before = max(q.Before, row.CompleteBy)
	}
	for len(wanted) > 0 {
		page, err := e.d.Store.Due(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, row := range page.Rows {
			if wanted[row] {
				delete(wanted, row)
				rows = append(rows, row)
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	return rows, nil
}
