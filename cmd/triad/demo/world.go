package demo

import (
	"context"
	"time"

	"triad/shared/api"
	"triad/shared/api/client"
	"triad/shared/task"
)

// maxListed is how many alerts and rejected messages are looked at: there are far
// fewer.
const maxListed = 100

// world is a World behind the HTTP API.
type world struct{ client *client.Client }

var _ World = world{}

func (w world) Fate(ctx context.Context, id task.ID) (Fate, error) {
	t, err := w.client.Task(ctx, id)
	if err != nil {
		return Fate{}, err
	}
	f := Fate{State: t.State, Reason: t.Reason}
	for _, s := range t.Steps {
		f.Attempts += s.Attempt
	}
	if t.EndedAt != 0 {
		f.Took = time.Duration(t.EndedAt-t.CreatedAt) * time.Millisecond
	}
	return f, nil
}

func (w world) Alerts(ctx context.Context) ([]api.Alert, error) {
	page, err := w.client.Alerts(ctx, 0, maxListed)
	return page.Alerts, err
}

func (w world) Rejected(ctx context.Context) ([]api.Rejected, error) {
	page, err := w.client.Rejected(ctx, 0, maxListed)
	return page.Rejected, err
}

func (w world) Notices(ctx context.Context, queue string) (n int, err error) {
	for after := int64(0); ; {
		page, err := w.client.Notices(ctx, queue, after, 1000, 0)
		if err != nil {
			return 0, err
		}
		n += len(page.Notices)
		if after = page.Next; page.Next == 0 {
			return n, nil
		}
	}
}
