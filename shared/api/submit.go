package api

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"triad/shared/queue"
	"triad/shared/submission"
	"triad/shared/task"
)

// submit serves POST /v1/tasks: the hot path.
func (s *server) submit(w http.ResponseWriter, r *http.Request) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := checkJSON(r); err != nil {
		return err
	}
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	return s.accept(w, r, body)
}

// accept has a submission accepted and answers. If the client goes away, it is
// accepted all the same: ended half way it would have to wait for a deadline.
func (s *server) accept(w http.ResponseWriter, r *http.Request, body []byte) error {
	sub, err := submission.Decode(body)
	if err != nil {
		return err
	}
	receipt, err := s.Submit.Submit(context.WithoutCancel(r.Context()), sub)
	if err != nil {
		return err
	}
	answer(w, receipt)
	return nil
}

// answer tells that a submission is accepted: 202, or 200 when it had been.
func answer(w http.ResponseWriter, receipt submission.Receipt) {
	a := acceptedOf(receipt.Task)
	status := http.StatusAccepted
	if receipt.Already {
		status = http.StatusOK
	}
	w.Header()["Location"] = []string{a.Location}
	writeJSON(w, status, a)
}

func location(id task.ID) string { return "/v1/tasks/" + url.PathEscape(string(id)) }

// enter admits a submission, or says that there is no room for it now. leave
// must follow when it returns nil.
func (s *server) enter() error {
	if s.Full != nil {
		if after, full := s.Full(); full {
			return tooMany(after)
		}
	}
	if s.active.Add(1) > int64(s.MaxSubmits) {
		s.leave()
		return tooMany(time.Second)
	}
	return nil
}

func (s *server) leave() { s.active.Add(-1) }

func tooMany(after time.Duration) error {
	f := failf(http.StatusTooManyRequests, CodeFull, "", "there is no room for more submissions now: send it again after the time in Retry-After")
	f.retryAfter = max(after, time.Second)
	return f
}

// enqueue serves POST /v1/queues/submissions, which imitates a producer on the
// queue: whatever it is, it is taken, and what can't be accepted is captured as
// rejected. An error means that it was not taken.
func (s *server) enqueue(w http.ResponseWriter, r *http.Request) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		return failf(http.StatusBadRequest, CodeInvalid, "", "the message is empty: a queue carries none such")
	}
	d := queue.Delivery{Body: body, Receives: 1}
	if err := s.Submit.Handle(context.WithoutCancel(r.Context()), d); err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, Taken{Queue: queue.Submissions})
	return nil
}
