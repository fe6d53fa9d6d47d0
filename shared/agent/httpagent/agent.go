package httpagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"

	"triad/shared/agent"
	"triad/shared/task"
)

// Agent calls one HTTP service. It is safe for concurrent use.
type Agent struct {
	cfg       Config
	do, undo  operation
	headers   http.Header
	transport http.RoundTripper
	slots     chan struct{}
	breaker   *breaker
}

// operation is the work or its undo.
type operation struct {
	method   string
	url      template
	body     Body
	meanings *meanings
}

// New makes an Agent. It returns an error that names the field and what would
// be right when the configuration can't work.
func New(c Config) (*Agent, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("agent %q: %w", c.Name, err)
	}
	a := &Agent{cfg: c, headers: make(http.Header), transport: c.Transport,
		slots: make(chan struct{}, c.Concurrency), breaker: newBreaker(c)}
	var err error
	if a.do.url, err = parseTemplate(c.URL); err != nil {
		return nil, fmt.Errorf("agent %q: field URL: %w", c.Name, err)
	}
	if a.undo.url, err = parseTemplate(c.Undo.URL); err != nil {
		return nil, fmt.Errorf("agent %q: field Undo.URL: %w", c.Name, err)
	}
	a.do.method, a.do.body, a.do.meanings = c.Method, c.Body, newMeanings(c.Success, c.Permanent, c.Transient)
	a.undo.method, a.undo.body, a.undo.meanings = c.Undo.Method, c.Undo.Body, newMeanings(c.Undo.Success, c.Permanent, c.Transient)
	for name, value := range c.Headers {
		a.headers.Set(name, value)
	}
	if a.transport == nil {
		a.transport = newTransport(c.Concurrency)
	}
	return a, nil
}

func newTransport(concurrency int) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // calls go where the file says, whatever the environment
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    concurrency,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    5 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Close closes the connections that are kept. Calls under way go on.
func (a *Agent) Close() {
	if t, ok := a.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

var _ agent.Func = (*Agent)(nil).Call

// Call asks the service once; it is the agent.Func. It returns the answer's
// body when that is JSON, nil otherwise. While the breaker is open it returns a
// transient error with the time to wait, and calls nobody.
func (a *Agent) Call(ctx context.Context, r task.Request) (json.RawMessage, error) {
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for one of %d calls of %s to end: %w", cap(a.slots), a.cfg.Name, ctx.Err())
	}
	return a.breaker.guard(func() (json.RawMessage, error) { return a.call(ctx, r) })
}

func (a *Agent) call(ctx context.Context, r task.Request) (json.RawMessage, error) {
	if a.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.cfg.Timeout)
		defer cancel()
	}
	op := &a.do
	if r.Undo {
		op = &a.undo
	}
	req, err := a.request(ctx, op, r)
	if err != nil {
		return nil, agent.Permanent(fmt.Errorf("making the call of %s: %w", a.cfg.Name, err))
	}
	// The transport itself, not a Client: it follows no redirect.
	resp, err := a.transport.RoundTrip(req)
	if err != nil {
		return nil, a.unanswered(err)
	}
	defer drain(resp.Body)
	switch op.meanings.of(resp.StatusCode) {
	case success:
		return a.output(resp)
	case permanent:
		return nil, agent.Permanent(a.refusal(resp))
	}
	wait := retryAfter(resp.Header.Get("Retry-After"), a.cfg.Clock())
	return nil, agent.RetryAfter(a.refusal(resp), wait)
}

func (a *Agent) request(ctx context.Context, op *operation, r task.Request) (*http.Request, error) {
	target, err := op.url.fill(r)
	if err != nil {
		return nil, err
	}
	var body []byte
	switch op.body {
	case BodyInput:
		body = r.Input
	case BodyOutput:
		body = r.Output
	}
	content := io.Reader(http.NoBody)
	if len(body) > 0 {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, op.method, target, content)
	if err != nil {
		return nil, err
	}
	req.Header = maps.Clone(a.headers)
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set(KeyHeader, r.IdempotencyKey())
	req.Header.Set(TaskHeader, string(r.Task))
	req.Header.Set(StepHeader, r.Step)
	req.Header.Set(AttemptHeader, strconv.Itoa(r.Attempt))
	return req, nil
}

// unanswered is the error of a call without an answer.
func (a *Agent) unanswered(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && a.cfg.Timeout > 0 {
		return fmt.Errorf("calling %s: no answer within %v", a.cfg.Name, a.cfg.Timeout)
	}
	return fmt.Errorf("calling %s: %w", a.cfg.Name, err)
}
