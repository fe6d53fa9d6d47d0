// Package payment is an agent written in Go: the example to copy for a service
// of your own. Agent httpagent does as much for any HTTP service without code;
// write one in Go when a call needs more than a URL and status codes, as here,
// where amounts are checked and answers are read.
//
// # What you write
//
// One agent.Func (here Payment.Call), which makes one call and says how it
// ended:
//
//	output, nil                      done
//	nil, agent.Permanent(err)        refused for good, and there is no effect
//	nil, agent.Unusable(err)         done, but the answer can't be used
//	nil, agent.RetryAfter(err, d)    not now; the service asks to wait d
//	nil, err                         anything else: may have worked, is tried again
//
// Everything else is done for you: reading requests, deadlines, retries, panics,
// late answers, replies. See main.go of functions/agents/payment for the wiring.
//
// # What you must keep to
//
// A call is made at least once, so it carries the request's idempotency key and
// the service heeds it, or the call is idempotent by nature. It ends when its
// context does. An undo succeeds also when there is nothing to undo: the request
// of the work may have been lost, or may still be on its way.
package payment

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"triad/shared/agent"
	"triad/shared/task"
)

// maxAnswer is how much of an answer is read, bytes.
const maxAnswer = 64 << 10

// Config says where the payment service is. URL is required.
type Config struct {
	// URL is where the services are: http://127.0.0.1:7080. A payment is at
	// URL/payment/ID, and its id is the task's.
	URL string
	// Timeout is how long one call may take, within the time of the step.
	// Defaults to 2 s.
	Timeout time.Duration
	// Transport makes the calls, and follows no redirect. Defaults to one that
	// keeps up to 64 connections.
	Transport http.RoundTripper
}

// Payment charges customers and gives their money back. It is safe for
// concurrent use.
type Payment struct{ cfg Config }

// New makes a Payment. It returns an error when the URL can't be called.
func New(c Config) (*Payment, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("payment: URL %q can't be called: give the services' http or https address", c.URL)
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	if c.Transport == nil {
		c.Transport = &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true}
	}
	return &Payment{c}, nil
}

// Receipt is the output of the step.
type Receipt struct {
	// ID is the payment's id at the service.
	ID string `json:"id"`
}

var _ agent.Func = (*Payment)(nil).Call

// Call charges the amount of the request's input, or takes the charge back. It
// is the agent.Func.
func (p *Payment) Call(ctx context.Context, r task.Request) (json.RawMessage, error) {
	method, body := http.MethodPut, []byte(r.Input)
	if r.Undo {
		method, body = http.MethodDelete, nil
	} else if err := check(r.Input); err != nil {
		return nil, agent.Permanent(err) // the same on every try: don't even call
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, p.cfg.URL+"/payment/"+url.PathEscape(string(r.Task)), bytes.NewReader(body))
	if err != nil {
		return nil, agent.Permanent(fmt.Errorf("making the call: %w", err))
	}
	req.Header.Set("Idempotency-Key", r.IdempotencyKey()) // the same on every try
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.cfg.Transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("calling the payment service: %w", err) // may have arrived all the same: transient
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("reading the answer of the payment service: %w", err)
	}
	if err := refusal(resp, answer, r.Undo); err != nil {
		return nil, err
	}
	if r.Undo {
		return nil, nil // what an undo returns is not kept
	}
	return receipt(resp.StatusCode, answer, r.Task)
}

// check refuses an input that no try can make right. It is sent as it is: a
// number that went through float64 might be another.
func check(input json.RawMessage) error {
	var charge struct{ Amount *float64 }
	switch err := json.Unmarshal(input, &charge); {
	case err != nil:
		return fmt.Errorf("reading the input of a charge: %w", err)
	case charge.Amount == nil:
		return errors.New("the charge has no amount: give one in the step's input")
	case *charge.Amount < 0:
		return fmt.Errorf("the amount of the charge is %v: it must not be negative", *charge.Amount)
	}
	return nil
}

// refusal says what an answer means that is no success; nil for one that is.
func refusal(resp *http.Response, answer []byte, undo bool) error {
	code := resp.StatusCode
	if code/100 == 2 || undo && (code == http.StatusNotFound || code == http.StatusGone) {
		return nil
	}
	err := fmt.Errorf("payment service answered %d: %.100s", code, bytes.TrimSpace(answer))
	switch {
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		return agent.RetryAfter(err, retryAfter(resp.Header))
	case code >= 500 || code == http.StatusRequestTimeout || code == http.StatusTooEarly:
		return err
	}
	// 402, 403, 409 and 422 are this service's words for no. So is whatever else
	// is left (a redirect, 400, 401, 404): asking the same again is no use.
	return agent.Permanent(err)
}

// retryAfter reads how long the service asks to be left alone, in seconds. What
// can't be read, and more than 18 hours, is no wish.
func retryAfter(h http.Header) time.Duration {
	s, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(s) * time.Second
}

// receipt makes the output. 204 is the answer to a charge that had been made
// before: it has no body, and the id is ours.
func receipt(code int, answer []byte, id task.ID) (json.RawMessage, error) {
	got := Receipt{ID: string(id)}
	if code != http.StatusNoContent {
		got = Receipt{}
		if err := json.Unmarshal(answer, &got); err != nil {
			return nil, agent.Unusable(fmt.Errorf("payment service answered %d with what can't be read: %w", code, err))
		}
	}
	if got.ID != string(id) {
		return nil, agent.Unusable(fmt.Errorf("payment service answered %d for payment %q, and was asked for %q", code, got.ID, id))
	}
	return json.Marshal(got)
}
