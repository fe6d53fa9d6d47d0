package api

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"time"

	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/submission"
	"triad/shared/task"
)

// maxRejectedLimit is smaller than maxLimit because of the bodies.
const maxRejectedLimit = 100

// A long poll looks this often, for at most so long.
const (
	pollEvery = 200 * time.Millisecond
	maxWait   = 30 * time.Second
)

// next is the `after` of the next page: none when this one is not full.
func next(got, limit int, last func() int64) int64 {
	if got < limit {
		return 0
	}
	return last()
}

// listRejected serves GET /v1/rejected.
func (s *server) listRejected(w http.ResponseWriter, r *http.Request) error {
	q := parameters(r, "after", "limit")
	after := q.whole("after", 0, math.MaxInt64, 0)
	limit := int(q.whole("limit", 1, maxRejectedLimit, maxRejectedLimit))
	if q.err != nil {
		return q.err
	}
	all, err := s.Ledger.Rejections(r.Context(), after, limit)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, RejectedPage{
		Rejected: each(all, rejectedOf),
		Next:     next(len(all), limit, func() int64 { return all[len(all)-1].Seq }),
	})
	return nil
}

// resend serves POST /v1/rejected/{seq}/resend: the message, or its correction,
// is submitted; once that is accepted, the rejected message is dismissed. If we
// stop between the two, resending again is recognised as the same submission.
func (s *server) resend(w http.ResponseWriter, r *http.Request) error {
	seq, err := seqOf(r)
	if err != nil {
		return err
	}
	var c Correction
	if err := readJSON(w, r, &c); err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context())
	body, err := s.rejectedBody(ctx, seq, c)
	if err != nil {
		return err
	}
	sub, err := submission.Decode(body)
	if err != nil {
		return err
	}
	receipt, err := s.Submit.Submit(ctx, sub)
	if err != nil {
		return err
	}
	if err := s.Ledger.Dismiss(ctx, seq); err != nil {
		return err
	}
	answer(w, receipt)
	return nil
}

// rejectedBody finds the rejected message and gives what to send for it.
func (s *server) rejectedBody(ctx context.Context, seq int64, c Correction) ([]byte, error) {
	found, err := s.Ledger.Rejections(ctx, seq-1, 1)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0 || found[0].Seq != seq:
		return nil, failf(http.StatusNotFound, CodeNotFound, "seq", "there is no rejected message %d", seq)
	case found[0].Queue != queue.Submissions:
		return nil, failf(http.StatusConflict, CodeRefused, "seq",
			"message %d came from the queue %s and is no submission: it can't be resent; dismiss it, the record of the task is what counts", seq, found[0].Queue)
	case len(c.Body) > 0 && !bytes.Equal(c.Body, []byte("null")):
		return c.Body, nil
	}
	return found[0].Body, nil
}

// dismiss serves DELETE /v1/rejected/{seq}.
func (s *server) dismiss(w http.ResponseWriter, r *http.Request) error {
	seq, err := seqOf(r)
	if err != nil {
		return err
	}
	if err := s.Ledger.Dismiss(context.WithoutCancel(r.Context()), seq); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// queueName is the response queue in the path; its rule is that of ids.
func queueName(r *http.Request) (string, error) {
	name := r.PathValue("queue")
	if err := task.ValidateID(task.ID(name)); err != nil {
		return "", failf(http.StatusBadRequest, CodeInvalid, "queue", "queue: %s", err)
	}
	return name, nil
}

// listNotices serves GET /v1/queues/{queue}/notices. With wait, it answers when
// there is a notice or the wait is over.
func (s *server) listNotices(w http.ResponseWriter, r *http.Request) error {
	name, err := queueName(r)
	if err != nil {
		return err
	}
	q := parameters(r, "after", "limit", "wait")
	after := q.whole("after", 0, math.MaxInt64, 0)
	limit := int(q.whole("limit", 1, maxLimit, defaultLimit))
	wait := q.duration("wait", maxWait)
	if q.err != nil {
		return q.err
	}
	read := func() ([]store.KeptNotice, error) {
		return s.Ledger.Mail().Notices(r.Context(), name, after, limit)
	}
	all, err := poll(r.Context(), wait, read)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, NoticePage{
		Notices: each(all, noticeOf),
		Next:    next(len(all), limit, func() int64 { return all[len(all)-1].Seq }),
	})
	return nil
}

// poll reads until there is something, or the wait or the context ends. Where a
// read takes its time, that counts as waiting.
func poll[T any](ctx context.Context, wait time.Duration, read func() ([]T, error)) ([]T, error) {
	for end := time.Now().Add(wait); ; {
		all, err := read()
		left := time.Until(end)
		if err != nil || len(all) > 0 || left <= 0 {
			return all, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(left, pollEvery)):
		}
	}
}

// acknowledge serves DELETE /v1/queues/{queue}/notices/{seq}.
func (s *server) acknowledge(w http.ResponseWriter, r *http.Request) error {
	name, err := queueName(r)
	if err != nil {
		return err
	}
	seq, err := seqOf(r)
	if err != nil {
		return err
	}
	if err := s.Ledger.Mail().Acknowledge(context.WithoutCancel(r.Context()), name, seq); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// listAlerts serves GET /v1/alerts.
func (s *server) listAlerts(w http.ResponseWriter, r *http.Request) error {
	q := parameters(r, "after", "limit")
	after := q.whole("after", 0, math.MaxInt64, 0)
	limit := int(q.whole("limit", 1, maxLimit, defaultLimit))
	if q.err != nil {
		return q.err
	}
	all, err := s.Ledger.Mail().Alerts(r.Context(), after, limit)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, AlertPage{
		Alerts: each(all, alertOf),
		Next:   next(len(all), limit, func() int64 { return all[len(all)-1].Seq }),
	})
	return nil
}
