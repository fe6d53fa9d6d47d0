package client

import (
	"errors"
	"fmt"
	"time"

	"triad/shared/api"
)

// The sentinels. Callers act on these with errors.Is; errors.As with *Error
// gives the details.
var (
	// ErrNotFound: there is no such task or message.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: the server refused the input, on every try; Error.Field may
	// name where.
	ErrInvalid = errors.New("invalid input")
	// ErrConflict: the id was submitted with other content, or the task's state
	// does not allow what was asked.
	ErrConflict = errors.New("conflict")
	// ErrFull: nothing was done, there is no room now. Try again after
	// Error.RetryAfter.
	ErrFull = errors.New("server is full")
	// ErrUnavailable: the server could not do it, and it may have been done all
	// the same. Try again after Error.RetryAfter.
	ErrUnavailable = errors.New("server can't do it now")
	// ErrUnreachable: there is no server to talk to, or it stopped talking. It
	// comes as an *UnreachableError.
	ErrUnreachable = errors.New("server can't be reached")
)

// Error is a refusal by the server.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Failure is what the server said. Its Code is empty when that was not in
	// the shape of the API.
	api.Failure
	// RetryAfter is the least wait before the next try; zero when trying again
	// is no use, or at once.
	RetryAfter time.Duration
}

// Error is the server's message.
func (e *Error) Error() string { return e.Message }

// Is makes errors.Is(err, ErrNotFound) and the like true.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return e.Status == 404
	case ErrConflict:
		return e.Status == 409
	case ErrFull:
		return e.Status == 429
	case ErrInvalid:
		return e.Status >= 400 && e.Status < 500 && e.Status != 404 && e.Status != 409 && e.Status != 429
	case ErrUnavailable:
		return e.Status >= 500
	}
	return false
}

// UnreachableError says where no server could be reached.
type UnreachableError struct {
	URL   string
	Cause error
}

// Error names the URL and what to do.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no answer from %s (%v): is `triad dev` running? start it, or give --url", e.URL, e.Cause)
}

// Is makes errors.Is(err, ErrUnreachable) true.
func (e *UnreachableError) Is(target error) bool { return target == ErrUnreachable }

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Cause }
