package chaos

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"time"

	"triad/infra/soak/audit"
	"triad/infra/soak/plan"
	"triad/shared/api/client"
	"triad/shared/operator"
	"triad/shared/task"
)

// Submit implements Form.
func (e *Embedded) Submit(ctx context.Context, o plan.One) (again int, err error) {
	body, err := o.Body()
	if err != nil {
		return 0, err
	}
	if o.Kind.Unreadable {
		return 0, e.until(ctx, o, func() error { return e.client.Enqueue(ctx, body) })
	}
	for range max(1, o.Kind.Times) {
		var already bool
		err := e.until(ctx, o, func() (err error) { _, already, err = e.client.Submit(ctx, body); return err })
		if err != nil {
			return again, err
		}
		if already {
			again++
		}
	}
	switch {
	case o.Kind.Other:
		return again, e.submitOther(ctx, o)
	case o.Kind.Cancel:
		err = e.until(ctx, o, func() error {
			_, err := e.client.Ask(ctx, o.ID, operator.Ask{Verb: operator.Cancel})
			if errors.Is(err, client.ErrConflict) {
				return nil // too late: it has ended
			}
			return err
		})
	}
	return again, err
}

// submitOther submits other content under the same id: it must be refused.
func (e *Embedded) submitOther(ctx context.Context, o plan.One) error {
	body, err := o.OtherBody()
	if err != nil {
		return err
	}
	var refused bool
	err = e.until(ctx, o, func() error {
		_, _, err := e.client.Submit(ctx, body)
		if refused = errors.Is(err, client.ErrConflict); refused {
			return nil
		}
		return err
	})
	if err == nil && !refused {
		err = fault(audit.Refused, string(o.ID), "it was submitted with other content, and that was accepted")
	}
	return err
}

// until calls until there is an answer, as an application would.
func (e *Embedded) until(ctx context.Context, o plan.One, call func() error) error {
	for {
		err := call()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, client.ErrUnreachable) && !errors.Is(err, client.ErrFull) && !errors.Is(err, client.ErrUnavailable):
			return fault(audit.Refused, string(o.ID), "it was refused: %v", err)
		}
		if err := pause(ctx, retryEvery); err != nil {
			return err
		}
	}
}

// Evidence implements Form. Everything is read back from the engine, over HTTP.
func (e *Embedded) Evidence(ctx context.Context, _ []audit.Order) (found audit.Evidence, err error) {
	found.Fates = map[task.ID]audit.Fate{}
	for q := (client.Query{Limit: 1000}); ; {
		page, err := e.patient.Tasks(ctx, q)
		if err != nil {
			return found, err
		}
		for _, t := range page.Tasks {
			found.Fates[t.ID] = audit.Fate{State: t.State, Reason: t.Reason}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	for _, queue := range []string{"shop", "fleet"} {
		err = errors.Join(err, e.notices(ctx, queue, &found))
	}
	return found, errors.Join(err, e.alerts(ctx, &found), e.rejected(ctx, &found))
}

func (e *Embedded) notices(ctx context.Context, queue string, found *audit.Evidence) error {
	for after := int64(0); ; {
		page, err := e.patient.Notices(ctx, queue, after, 1000, 0)
		for _, n := range page.Notices {
			found.Notices = append(found.Notices, audit.Notice{ID: n.ID, Queue: queue, Status: n.Status, Task: n.Task})
		}
		if after = page.Next; err != nil || after == 0 {
			return err
		}
	}
}

func (e *Embedded) alerts(ctx context.Context, found *audit.Evidence) error {
	for after := int64(0); ; {
		page, err := e.patient.Alerts(ctx, after, 1000)
		for _, a := range page.Alerts {
			found.Alerts = append(found.Alerts, audit.Alert{ID: a.ID, Task: a.Task})
		}
		if after = page.Next; err != nil || after == 0 {
			return err
		}
	}
}

// rejected reads the captured messages and dismisses them, as an operator does
// who has looked at them: the doctor holds each for a finding.
func (e *Embedded) rejected(ctx context.Context, found *audit.Evidence) error {
	for after := int64(0); ; {
		page, err := e.patient.Rejected(ctx, after, 100)
		for _, r := range page.Rejected {
			found.Rejected = append(found.Rejected, r.Body)
			err = errors.Join(err, e.patient.Dismiss(ctx, r.Seq))
		}
		if after = page.Next; err != nil || after == 0 {
			return err
		}
	}
}

// Examine implements Form: `triad doctor` looks at every task, and at the file.
func (e *Embedded) Examine(ctx context.Context) ([]audit.Violation, error) {
	cmd := exec.CommandContext(ctx, e.Program, "--url", "http://"+e.address, "doctor", "--full", "--integrity")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.WaitDelay = time.Second
	return examined(cmd.CombinedOutput())
}

// examined reads the end of a `triad doctor`.
func examined(said []byte, err error) ([]audit.Violation, error) {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return []audit.Violation{{Rule: audit.Health, ID: "triad doctor --full", What: string(bytes.TrimSpace(said))}}, nil
	}
	return nil, err
}
