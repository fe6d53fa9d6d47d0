package command

import (
	"context"
	"fmt"
	"strings"

	"triad/shared/api/client"
	"triad/shared/task"
)

// Counting reads pages, because stores count nothing: so many at most for each
// filter.
const (
	countPages    = 10
	countPageSize = 1000
)

// counted are the states that are counted, in the order of a task's life.
var counted = []task.State{task.Pending, task.Processing, task.Compensating, task.Error}

// census is how many tasks there are in each state, as JSON too.
type census struct {
	Counts map[task.State]int `json:"counts"`
	// More is true when there are more tasks than were counted.
	More bool `json:"more,omitempty"`
}

// count looks at all tasks that are unfinished or in Error.
func (w *watcher) count(ctx context.Context) (finished bool, err error) {
	all := census{Counts: map[task.State]int{}}
	for _, q := range []client.Query{{Unfinished: true}, {State: task.Error}} {
		if err := all.add(ctx, w.server, q); err != nil {
			return false, err
		}
	}
	w.seen = true
	text := all.String(w.env)
	if text == w.counts {
		return false, nil
	}
	w.counts = text
	if w.json {
		return false, w.env.line(all)
	}
	return false, w.env.print("%s", text)
}

func (c *census) add(ctx context.Context, server *client.Client, q client.Query) error {
	q.Limit = countPageSize
	for range countPages {
		page, err := server.Tasks(ctx, q)
		if err != nil {
			return err
		}
		for _, t := range page.Tasks {
			c.Counts[t.State]++
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
	c.More = true
	return nil
}

// String is the counts on one line.
func (c *census) String(env *Env) string {
	parts := make([]string, len(counted))
	for i, state := range counted {
		parts[i] = fmt.Sprintf("%s %-6d", env.paint(string(state)), c.Counts[state])
	}
	line := strings.TrimRight(strings.Join(parts, "  "), " ")
	if c.More {
		line += "  and more"
	}
	return line
}
