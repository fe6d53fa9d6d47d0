package httpagent

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"triad/shared/agent"
	"triad/shared/task"
)

// Config describes one service. Fields of the same name in agents.yaml mean the
// same.
type Config struct {
	// Name is the agent's name. Required.
	Name string
	// URL is where a step's work is asked for, http or https. {task}, {step},
	// {key} (task/step) and {tenant} behind the host stand for the request's
	// values, escaped. Required.
	URL string
	// Method defaults to PUT.
	Method string
	// Headers are sent with every call. They must not be those the agent sets.
	Headers map[string]string
	// Body is what a call carries. Defaults to BodyInput.
	Body Body
	// Undo says how a step is undone.
	Undo Undo
	// Success lists the codes of success. Defaults to 200-299.
	Success []Codes
	// Permanent lists the codes of refusal for good. What no list has is
	// permanent from 300 to 499, but for 408, 425 and 429.
	Permanent []Codes
	// Transient lists the codes worth another try. What no list has and is not
	// permanent is transient.
	Transient []Codes
	// Timeout bounds each try, milliseconds and up. Zero leaves it all the time
	// until CompleteBy.
	Timeout time.Duration
	// ResponseLimit is the largest answer to a success, bytes, at most
	// MaxResponse. Defaults to task.MaxOutput.
	ResponseLimit int64
	// Concurrency is the most calls at once; more wait. Defaults to 64.
	Concurrency int
	// Breaker says when the service is left alone.
	Breaker Breaker
	// Retry is for the agent.Config of this agent; an Agent does not read it.
	Retry task.Retry

	// Counters counts breaker opens. Defaults to counters of its own.
	Counters *agent.Counters
	// Transport makes the calls. Defaults to one of the Agent's own, without
	// proxy, that keeps as many connections as there may be calls.
	Transport http.RoundTripper
	// Clock tells the time. Defaults to time.Now. The breaker's own time is
	// always the real one.
	Clock func() time.Time
	// Logger gets one line per change of the breaker. Defaults to none.
	Logger *slog.Logger
}

// MaxResponse is the largest ResponseLimit, bytes.
const MaxResponse = 1 << 20

// Undo says how a step is undone.
type Undo struct {
	// Method defaults to DELETE.
	Method string
	// URL defaults to that of the work.
	URL string
	// Body defaults to BodyNone.
	Body Body
	// Success lists the codes of success. Defaults to 200-299, 404 and 410:
	// what is not there needs no undo. It goes before Permanent and Transient,
	// which count for an undo too.
	Success []Codes
}

// Breaker says when the service is left alone: after so many failures in a row
// no call is made for a while; then one is, and its result decides. Refusals
// for good count as the service's health.
type Breaker struct {
	// Failures defaults to 10.
	Failures int
	// Open is how long no call is made. Defaults to 5s.
	Open time.Duration
}

// Body is what a call carries.
type Body string

// The bodies.
const (
	// BodyInput is the step's input.
	BodyInput Body = "input"
	// BodyOutput is what the step had returned; only for an undo.
	BodyOutput Body = "output"
	// BodyNone is no body.
	BodyNone Body = "none"
)

// The headers that an agent sets itself.
const (
	KeyHeader     = "Idempotency-Key"
	TaskHeader    = "Triad-Task"
	StepHeader    = "Triad-Step"
	AttemptHeader = "Triad-Attempt"
)

// withDefaults fills in what is absent; it changes no slice or map of c.
func (c Config) withDefaults() Config {
	c.Method = cmp.Or(c.Method, http.MethodPut)
	c.Body = cmp.Or(c.Body, BodyInput)
	c.Undo.Method = cmp.Or(c.Undo.Method, http.MethodDelete)
	c.Undo.URL = cmp.Or(c.Undo.URL, c.URL)
	c.Undo.Body = cmp.Or(c.Undo.Body, BodyNone)
	if len(c.Success) == 0 {
		c.Success = []Codes{{200, 299}}
	}
	if len(c.Undo.Success) == 0 {
		c.Undo.Success = []Codes{{200, 299}, {404, 404}, {410, 410}}
	}
	c.ResponseLimit = cmp.Or(c.ResponseLimit, task.MaxOutput)
	c.Concurrency = cmp.Or(c.Concurrency, 64)
	c.Breaker.Failures = cmp.Or(c.Breaker.Failures, 10)
	c.Breaker.Open = cmp.Or(c.Breaker.Open, 5*time.Second)
	if c.Counters == nil {
		c.Counters = new(agent.Counters)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// check returns the first fault of a Config with defaults, by field.
func (c Config) check() error {
	checks := []struct {
		field string
		err   error
	}{
		{"Name", checkName(c.Name)},
		{"Method", checkMethod(c.Method)},
		{"Undo.Method", checkMethod(c.Undo.Method)},
		{"Body", checkBody(c.Body, BodyInput, BodyNone)},
		{"Undo.Body", checkBody(c.Undo.Body, BodyInput, BodyOutput, BodyNone)},
		{"Timeout", checkDuration(c.Timeout, 0)},
		{"ResponseLimit", checkNumber(c.ResponseLimit, 1, MaxResponse)},
		{"Concurrency", checkNumber(int64(c.Concurrency), 1, 10_000)},
		{"Breaker.Failures", checkNumber(int64(c.Breaker.Failures), 1, 10_000)},
		{"Breaker.Open", checkDuration(c.Breaker.Open, time.Millisecond)},
		{"Success, Permanent, Transient", checkOverlap(c.Success, c.Permanent, c.Transient)},
	}
	for _, ch := range checks {
		if ch.err != nil {
			return fmt.Errorf("field %s: %w", ch.field, ch.err)
		}
	}
	for name, value := range c.Headers {
		if err := checkHeader(name, value); err != nil {
			return fmt.Errorf("field Headers: %w", err)
		}
	}
	return nil
}

func checkName(s string) error {
	ok := s != "" && len(s) <= 63 && s[0] >= 'a' && s[0] <= 'z'
	for _, c := range []byte(s) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-')
	}
	if !ok {
		return fmt.Errorf("agent name %q: write 1 to 63 of a-z 0-9 -, a letter first", s)
	}
	return nil
}

func checkMethod(s string) error {
	methods := []string{http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete, http.MethodGet}
	if !slices.Contains(methods, s) {
		return fmt.Errorf("%q is not a method: write one of %s", s, strings.Join(methods, ", "))
	}
	return nil
}

func checkBody(b Body, allowed ...Body) error {
	if !slices.Contains(allowed, b) {
		return fmt.Errorf("%q is not a body: write one of %q", string(b), allowed)
	}
	return nil
}

func checkDuration(d, least time.Duration) error {
	if d < least || d > 24*time.Hour {
		return fmt.Errorf("%v is out of range: write a duration from %v to 24h", d, least)
	}
	return nil
}

func checkNumber(n, least, most int64) error {
	if n < least || n > most {
		return fmt.Errorf("%d is out of range: write a number from %d to %d", n, least, most)
	}
	return nil
}

// checkHeader never quotes the value: it may be a secret.
func checkHeader(name, value string) error {
	if name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		return fmt.Errorf("%q is not the name of a header: use letters, digits and -", name)
	}
	switch canonical := http.CanonicalHeaderKey(name); canonical {
	case KeyHeader, TaskHeader, StepHeader, AttemptHeader, "Content-Type", "Content-Length",
		"Transfer-Encoding", "Connection", "Host":
		return fmt.Errorf("header %s is set by the agent: leave it out", canonical)
	}
	for _, c := range []byte(value) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Errorf("header %s: its value has a control character: remove it", name)
		}
	}
	return nil
}
