package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"triad/shared/api/client"
)

// progress shows how far the orders are, until all have ended.
type progress struct {
	*demo
	printed time.Time
}

const (
	lookEvery  = 200 * time.Millisecond
	plainEvery = 3 * time.Second
	barWidth   = 28
)

func (p *progress) follow(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		open, err := p.unfinished(ctx)
		if err != nil {
			return err
		}
		accepted := int(p.accepted.Load())
		done := open == 0 && accepted == len(p.samples.Orders)
		p.show(accepted, open, done)
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// unfinished counts the tasks under way.
func (p *progress) unfinished(ctx context.Context) (n int, err error) {
	q := client.Query{Unfinished: true, Limit: 1000}
	for {
		page, err := p.client.Tasks(ctx, q)
		if err != nil {
			return 0, err
		}
		n += len(page.Tasks)
		if q.Cursor = page.Next; page.Next == "" {
			return n, nil
		}
	}
}

// show prints one line: redrawn on a terminal, now and then elsewhere.
func (p *progress) show(accepted, open int, done bool) {
	if !p.Live && !done && time.Since(p.printed) < plainEvery {
		return
	}
	p.printed = time.Now()
	total := len(p.samples.Orders)
	ended := max(0, accepted-open)
	line := fmt.Sprintf("%s %3d of %d orders have ended, %d under way, %2.0f s",
		bar(ended, total), ended, total, open, time.Since(p.started).Seconds())
	switch {
	case !p.Live:
		_, _ = fmt.Fprintln(p.Out, line)
	case done:
		_, _ = fmt.Fprintf(p.Out, "\r\033[K%s\n", line)
	default:
		_, _ = fmt.Fprintf(p.Out, "\r\033[K%s", line)
	}
}

func bar(n, of int) string {
	full := 0
	if of > 0 {
		full = n * barWidth / of
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "]"
}
