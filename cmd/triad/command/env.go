package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"triad/shared/api/client"
)

// Env is what a command sees of the world around it. Stdin, Stdout, Stderr and
// Lookup are required.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Lookup reads an environment variable. TRIAD_URL, TRIAD_STACK, NO_COLOR and
	// TERM are read; the SDK of AWS reads its own by itself.
	Lookup func(name string) (value string, found bool)
	// Terminal is true when Stdout is a terminal: colours are then used.
	Terminal bool
	// Pause waits for d or the end of ctx, whose error it returns. Defaults to
	// the clock's.
	Pause func(ctx context.Context, d time.Duration) error
	// Transport carries the requests to the server. Defaults to HTTP.
	Transport http.RoundTripper
}

const defaultURL = "http://127.0.0.1:7070"

// complete returns a copy with the defaults filled in.
func (e *Env) complete() *Env {
	out := *e
	if out.Pause == nil {
		out.Pause = pause
	}
	return &out
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (e *Env) url() string {
	if v, found := e.Lookup("TRIAD_URL"); found && v != "" {
		return v
	}
	return defaultURL
}

// stackName is the stack to work on; empty for a server.
func (e *Env) stackName() string {
	v, _ := e.Lookup("TRIAD_STACK")
	return v
}

// colours reports whether to use colours (see no-color.org).
func (e *Env) colours() bool {
	none, _ := e.Lookup("NO_COLOR")
	term, _ := e.Lookup("TERM")
	return e.Terminal && none == "" && term != "dumb"
}

// client returns a client for the server or the stack that the flags name.
func (e *Env) client(ctx context.Context, g *Globals, connections int) (*client.Client, error) {
	config := client.Config{URL: g.URL, Transport: e.Transport, Connections: connections}
	if g.Stack != "" {
		s, err := g.stack(ctx)
		if err != nil {
			return nil, err
		}
		// The URL is where it would be if it were a server. A look into a queue
		// with thousands of messages takes minutes.
		config.URL, config.Transport, config.Timeout = defaultURL, s, 5*time.Minute
	}
	c, err := client.New(config)
	if err != nil {
		return nil, &usageError{text: err.Error(), hint: "give --url, or set TRIAD_URL"}
	}
	return c, nil
}

// note tells the person something that is no result.
func (e *Env) note(format string, args ...any) {
	_, _ = fmt.Fprintf(e.Stderr, "triad: %s\n", clean(fmt.Sprintf(format, args...)))
}

// usageError: the command line is wrong.
type usageError struct{ text, hint string }

func (e *usageError) Error() string { return e.text }

func misused(hint, format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...), hint: hint}
}

// hinted is an error with what to do about it.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// errTold: something failed, and everything about it has been printed.
var errTold = errors.New("failed, and said so")

// The exit codes.
const (
	exitFailed      = 1
	exitMisused     = 2
	exitInterrupted = 130
)

// fail prints an error and gives its exit code.
func (e *Env) fail(ctx context.Context, g *Globals, err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errTold):
		return exitFailed
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return exitInterrupted
	case errors.As(err, &usage):
		e.note("%s", usage.text)
		e.hint(usage.hint)
		return exitMisused
	}
	e.note("%s", err)
	e.hint(hintFor(g, err))
	return exitFailed
}

func (e *Env) hint(text string) {
	if text != "" {
		_, _ = fmt.Fprintf(e.Stderr, "  hint: %s\n", text)
	}
}

// hintFor says what to do about an error of the server or the stack. Those that
// are not here say it themselves.
func hintFor(g *Globals, err error) string {
	var has *hinted
	switch {
	case errors.As(err, &has):
		return has.hint
	case errors.Is(err, client.ErrNotFound) && g.Stack != "":
		return "see what is not finished with: triad --stack " + clean(g.Stack) + " list --unfinished"
	case errors.Is(err, client.ErrNotFound):
		return "see what there is with: triad list"
	case errors.Is(err, client.ErrFull):
		return "the server is busy: try again soon"
	case strings.Contains(err.Error(), "ExpiredToken"):
		return "your credentials for AWS have expired: log in again, and repeat it"
	}
	return ""
}
