package command

import (
	"context"
	"fmt"
	"time"

	"triad/shared/api"
	"triad/shared/task"
)

// The waits between two looks: from the first to the last, doubling.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = 2 * time.Second
)

// wait looks at the accepted tasks until all have ended. It fails when one did
// not end Processed, or not in time.
func (s *submitter) wait(ctx context.Context, timeout time.Duration) error {
	good, left, waited := true, s.ids, time.Duration(0)
	for look := firstLook; ; look = min(2*look, lastLook) {
		var err error
		if left, err = s.look(ctx, left, &good); err != nil {
			return err
		}
		switch {
		case len(left) == 0 && good:
			return nil
		case len(left) == 0:
			return errTold
		case waited >= timeout:
			return fmt.Errorf("%d tasks, among them %s, have not ended within %s: they go on; follow one with: triad watch %s",
				len(left), left[0], timeout, left[0])
		}
		look = min(look, timeout-waited)
		if err := s.env.Pause(ctx, look); err != nil {
			return err
		}
		waited += look
	}
}

// look tells which of the tasks have ended, and returns the others.
func (s *submitter) look(ctx context.Context, ids []task.ID, good *bool) ([]task.ID, error) {
	var left []task.ID
	for _, id := range ids {
		t, err := s.server.Task(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("waiting for task %s: %w", id, err)
		}
		if !t.State.Finished() {
			left = append(left, id)
			continue
		}
		*good = *good && t.State == task.Processed
		if err := s.ended(t); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// ended tells how a task ended: in text each failure, and successes while they
// are few.
func (s *submitter) ended(t api.Task) error {
	if s.json {
		return s.env.line(t.Summary)
	}
	if t.State != task.Processed || len(s.ids) <= shownResults {
		return s.env.print("%s", outcome(s.env, t))
	}
	return nil
}

// outcome is one line about a finished task.
func outcome(env *Env, t api.Task) string {
	line := fmt.Sprintf("%s  %s", env.paint(clean(string(t.State))), t.ID)
	if span := took(t.CreatedAt, t.EndedAt); span != "" {
		line += "  after " + span
	}
	if t.Reason != "" {
		line += ": " + clean(t.Reason)
	}
	return line
}
