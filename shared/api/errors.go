package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"triad/shared/operator"
	"triad/shared/store"
	"triad/shared/submission"
)

// Code says what kind of error it is, for programs.
type Code string

// The codes, with their statuses.
const (
	CodeInvalid     Code = "invalid"            // 400: the input is wrong; Field may name where
	CodeUnsupported Code = "unsupported"        // 400: this deployment can't answer that; the message says what it can
	CodeForbidden   Code = "forbidden"          // 403: the request comes from a web page or under a foreign name
	CodeNotFound    Code = "not_found"          // 404
	CodeMethod      Code = "method_not_allowed" // 405
	CodeDifferent   Code = "different"          // 409: the id was submitted with other content
	CodeRefused     Code = "refused"            // 409: the task's state does not allow it
	CodeTooLarge    Code = "too_large"          // 413
	CodeMediaType   Code = "media_type"         // 415: not JSON in UTF-8
	CodeFull        Code = "full"               // 429: nothing was done; try again after Retry-After
	CodeUnavailable Code = "unavailable"        // 503: the outcome is open; try again after Retry-After
	CodeNotReady    Code = "not_ready"          // 503: the engine does not work now
	CodeStoreFull   Code = "store_full"         // 507: nothing was done; the store needs room
	CodeDamaged     Code = "damaged"            // 500: what is stored can't be read
)

// ErrorBody is the body of every error.
type ErrorBody struct {
	Error Failure `json:"error"`
}

// Failure says what happened, to what, and what to do.
type Failure struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Field is the path of the field that is wrong, as order.items[0].sku, or
	// the name of a query parameter; empty for none.
	Field string `json:"field,omitempty"`
}

// failure is an error with its answer.
type failure struct {
	Failure
	status     int
	retryAfter time.Duration
	cause      error // for the log only
}

// Error is the message.
func (f *failure) Error() string { return f.Message }

func failf(status int, code Code, field, message string, args ...any) *failure {
	return &failure{status: status, Failure: Failure{Code: code, Field: field, Message: fmt.Sprintf(message, args...)}}
}

// refuse answers with an error.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := translate(err)
	switch {
	case f.cause == nil || r.Context().Err() != nil:
	case s.Explain != nil:
		f.Message = s.Explain(f.cause)
	default:
		s.Logger.LogAttrs(r.Context(), slog.LevelError, "answering with an error",
			slog.String("method", r.Method), slog.String("path", shorten(r.URL.Path)), slog.Any("error", f.cause))
	}
	if f.retryAfter > 0 {
		seconds := (f.retryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	writeJSON(w, f.status, ErrorBody{f.Failure})
}

// translate finds the answer to an error: the one place where the sentinels of
// the engine become statuses.
func translate(err error) *failure {
	var f *failure
	var invalid *submission.InvalidError
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &invalid) && invalid.TooLarge:
		return failf(http.StatusRequestEntityTooLarge, CodeTooLarge, invalid.Field, "%s", invalid)
	case errors.As(err, &invalid):
		return failf(http.StatusBadRequest, CodeInvalid, invalid.Field, "%s", invalid)
	case errors.As(err, &long):
		return failf(http.StatusRequestEntityTooLarge, CodeTooLarge, "", "the body is too large: at most %d bytes are accepted", long.Limit)
	case errors.Is(err, submission.ErrDifferent):
		return failf(http.StatusConflict, CodeDifferent, "id", "%s", err)
	case errors.Is(err, operator.ErrRefused):
		return failf(http.StatusConflict, CodeRefused, "", "%s", err)
	case errors.Is(err, operator.ErrNoVerb):
		return failf(http.StatusBadRequest, CodeInvalid, "verb", "%s", err)
	case errors.Is(err, store.ErrNotFound):
		return failf(http.StatusNotFound, CodeNotFound, "", "%s", err)
	case errors.Is(err, store.ErrCursor):
		return failf(http.StatusBadRequest, CodeInvalid, "cursor", "%s: give the next of the page before", err)
	case errors.Is(err, store.ErrUnsupported):
		return failf(http.StatusBadRequest, CodeUnsupported, "", "%s", err)
	case errors.Is(err, store.ErrTooLarge):
		return failf(http.StatusRequestEntityTooLarge, CodeTooLarge, "", "%s", err)
	}
	return fault(err)
}

// fault is the answer to an error that is not the client's.
func fault(err error) *failure {
	f := failf(http.StatusServiceUnavailable, CodeUnavailable, "",
		"the outcome is not known: ask again, that is safe; the cause is in the server's log")
	f.retryAfter, f.cause = time.Second, err
	switch {
	case errors.Is(err, store.ErrFull):
		f = failf(http.StatusInsufficientStorage, CodeStoreFull, "",
			"nothing was written, the store is full: make room on its disk, then ask again")
		f.retryAfter, f.cause = 30*time.Second, err
	case errors.Is(err, store.ErrReadOnly):
		f.Message = "nothing was written, the store can't be written: check the rights and the disk of its file"
	case errors.Is(err, store.ErrDamaged):
		f = failf(http.StatusInternalServerError, CodeDamaged, "", "%s: restore the store's file from a copy", err)
		f.cause = err
	case errors.Is(err, context.Canceled):
		f.cause = nil // the client went away
	}
	return f
}

// shorten makes a text of the request fit for a message.
func shorten(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
