package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"strings"

	"triad/shared/store"
	"triad/shared/store/record"
	"triad/shared/task"
)

// maxScan bounds the rows one call of List reads.
const maxScan = 5_000

// The three walks of List. Each takes the cursor and a limit, and begins with
// the columns that make the next cursor.
const (
	walkAll = `SELECT seq, 0, 0, id, state, workflow, tenant, record FROM tasks
		WHERE seq < ?1 ORDER BY seq DESC LIMIT ?4`
	walkFailed = `SELECT seq, 0, 0, id, state, workflow, tenant, record FROM tasks
		WHERE state = 'Error' AND seq < ?1 ORDER BY seq DESC LIMIT ?4`
	walkUnfinished = `SELECT shard, due, seq, id, state, workflow, tenant, record FROM tasks
		WHERE due > 0 AND (shard, due, seq) > (?1, ?2, ?3) ORDER BY shard, due, seq LIMIT ?4`
)

// place is a cursor: seq of the last row, or its shard, due and seq.
type place [3]int64

// List returns tasks, the newest first, but unfinished ones by shard and
// CompleteBy. It supports every filter; to find few among many it reads up to
// 5,000 rows a call, and may return a page that is short, or even empty, with a
// cursor to go on from.
func (s *Store) List(ctx context.Context, q store.ListQuery) (store.ListPage, error) {
	page, err := s.list(ctx, q)
	if err != nil {
		return store.ListPage{}, fmt.Errorf("listing tasks: %w", translate(s.path, err))
	}
	return page, nil
}

func (s *Store) list(ctx context.Context, q store.ListQuery) (page store.ListPage, err error) {
	walk, start := walkOf(q)
	if q.Cursor != "" {
		if start, err = parsePlace(q.Cursor); err != nil {
			return page, err
		}
	}
	limit := min(q.Limit, 1_000)
	if limit <= 0 {
		limit = 100
	}
	rows, err := s.reads.db.QueryContext(ctx, walk, start[0], start[1], start[2], maxScan)
	if err != nil {
		return page, err
	}
	defer rows.Close()
	var last place
	for n := 1; rows.Next(); n++ {
		// There is a row behind the last one: a full page goes on there.
		if len(page.Tasks)+len(page.Damaged) == limit {
			page.Next = last.String()
			return page, nil
		}
		var row listed
		if err := row.scan(rows); err != nil {
			return page, err
		}
		if last = row.place; row.matches(q) {
			row.decode(&page)
		}
		if n == maxScan {
			page.Next = last.String()
		}
	}
	return page, rows.Err()
}

// walkOf picks the cheapest walk that sees everything q asks for.
func walkOf(q store.ListQuery) (walk string, start place) {
	switch {
	case q.State == task.Error && !q.Unfinished:
		return walkFailed, place{math.MaxInt64}
	case q.Unfinished || q.State != "" && !q.State.Finished():
		return walkUnfinished, place{math.MinInt64}
	}
	return walkAll, place{math.MaxInt64}
}

// listed is a row of a walk.
type listed struct {
	place                               place
	id, state, workflow, tenant, record string
}

func (l *listed) scan(rows *sql.Rows) error {
	return rows.Scan(&l.place[0], &l.place[1], &l.place[2], &l.id, &l.state, &l.workflow, &l.tenant, &l.record)
}

func (l *listed) matches(q store.ListQuery) bool {
	name, _, _ := strings.Cut(l.workflow, "@")
	return (q.State == "" || l.state == string(q.State)) &&
		(q.Workflow == "" || l.workflow == q.Workflow || name == q.Workflow) &&
		(q.Tenant == "" || l.tenant == q.Tenant) &&
		(!q.Unfinished || !task.State(l.state).Finished())
}

// decode adds the task to the page, or among those that are damaged.
func (l *listed) decode(page *store.ListPage) {
	t, _, err := record.Decode([]byte(l.record))
	if err == nil && string(t.ID) != l.id {
		err = fmt.Errorf("%w: its record is that of task %s", store.ErrDamaged, t.ID)
	}
	if err != nil {
		page.Damaged = append(page.Damaged, store.Damaged{ID: task.ID(l.id), Err: err})
		return
	}
	page.Tasks = append(page.Tasks, t)
}

func (p place) String() string {
	return fmt.Sprintf("%d.%d.%d", p[0], p[1], p[2])
}

func parsePlace(cursor string) (p place, err error) {
	fields := strings.Split(cursor, ".")
	if len(fields) != len(p) {
		return p, fmt.Errorf("%w: %q is not one of this store", store.ErrCursor, cursor)
	}
	for i := range p {
		if p[i], err = strconv.ParseInt(fields[i], 10, 64); err != nil {
			return p, fmt.Errorf("%w: %q is not one of this store", store.ErrCursor, cursor)
		}
	}
	return p, nil
}
