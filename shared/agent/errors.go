package agent

import (
	"errors"
	"time"
)

// Permanent marks err as a refusal for good: the service said no, there is no
// effect, and trying again would give the same answer. The step is not retried.
// Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// Unusable marks err as permanent too, but for a call that had its effect: the
// service said yes, and its answer can't be used. The step is not retried, and
// undone if the task is. Unusable(nil) is nil.
func Unusable(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{&unusableError{err}}
}

func isUnusable(err error) bool {
	var u *unusableError
	return errors.As(err, &u)
}

// IsPermanent reports whether Permanent marked err or an error it wraps.
func IsPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}

// RetryAfter marks err as transient with the least wait before the next try.
// Inside the deadline the agent waits that long itself; otherwise the Scheduler
// does. A d of zero or less means no wish. RetryAfter(nil, d) is nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &waitError{err, max(0, d)}
}

// NotNow marks err as transient for a call that was not made: the service is left
// alone for d. The agent does not wait for that itself, so that its slots are
// free for others; the Scheduler does. NotNow(nil, d) is nil.
func NotNow(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &notNowError{RetryAfter(err, d)}
}

func isNotNow(err error) bool {
	var n *notNowError
	return errors.As(err, &n)
}

// Wait returns the wait that RetryAfter or NotNow asked for; zero for none.
func Wait(err error) time.Duration {
	var w *waitError
	if errors.As(err, &w) {
		return w.wait
	}
	return 0
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

type unusableError struct{ err error }

func (e *unusableError) Error() string { return e.err.Error() }
func (e *unusableError) Unwrap() error { return e.err }

type notNowError struct{ err error }

func (e *notNowError) Error() string { return e.err.Error() }
func (e *notNowError) Unwrap() error { return e.err }

type waitError struct {
	err  error
	wait time.Duration
}

func (e *waitError) Error() string { return e.err.Error() }
func (e *waitError) Unwrap() error { return e.err }
