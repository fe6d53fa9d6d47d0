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

// Wait returns the wait that RetryAfter asked for; zero for none.
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

type waitError struct {
	err  error
	wait time.Duration
}

func (e *waitError) Error() string { return e.err.Error() }
func (e *waitError) Unwrap() error { return e.err }
