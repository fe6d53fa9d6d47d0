package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"triad/shared/api"
)

// Config makes a Client. URL is required.
type Config struct {
	// URL is where the server is, as http://127.0.0.1:7070.
	URL string
	// Transport carries the requests. Defaults to one that keeps as many
	// connections alive as Connections says.
	Transport http.RoundTripper
	// Connections is how many requests will be made at once. Defaults to 16.
	Connections int
	// Timeout bounds one call, beside its context. Defaults to 1 minute.
	Timeout time.Duration
}

// Client speaks to one server. It is safe for concurrent use.
type Client struct {
	base    string
	http    *http.Client
	timeout time.Duration
}

// maxAnswer is the largest answer that is read, bytes: a page of tasks or of
// rejected messages stays far below it.
const maxAnswer = 64 << 20

// New returns a Client. The error says what is wrong with the URL.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is no address of a server: write it as http://127.0.0.1:7070", c.URL)
	}
	if c.Connections <= 0 {
		c.Connections = 16
	}
	if c.Timeout <= 0 {
		c.Timeout = time.Minute
	}
	if c.Transport == nil {
		c.Transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			MaxIdleConns:        c.Connections,
			MaxIdleConnsPerHost: c.Connections,
			IdleConnTimeout:     30 * time.Second,
		}
	}
	return &Client{base: strings.TrimSuffix(u.String(), "/"), timeout: c.Timeout, http: &http.Client{
		Transport: c.Transport,
		// A server of ours never redirects; following would resend orders elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// call makes one call. A nil in sends no body, a nil out expects none; a
// []byte is sent as it is.
func (c *Client) call(ctx context.Context, method, path string, in, out any) (status int, err error) {
	body, err := encode(in)
	if err != nil {
		return 0, fmt.Errorf("encoding the request: %w", err)
	}
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(bounded, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("making the request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, c.unreachable(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // all of it was read, or the connection is given up
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return resp.StatusCode, c.unreachable(ctx, err)
	}
	if resp.StatusCode >= 300 {
		return resp.StatusCode, refusal(resp, answer)
	}
	if out == nil {
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return resp.StatusCode, fmt.Errorf("%s did not answer as Triad does (%w): check the URL", c.base, err)
	}
	return resp.StatusCode, nil
}

func encode(in any) ([]byte, error) {
	switch in := in.(type) {
	case nil:
		return nil, nil
	case []byte:
		return in, nil
	}
	return json.Marshal(in)
}

// unreachable tells the end of the caller's context from a server that does not
// answer.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &UnreachableError{URL: c.base, Cause: err}
}

// refusal reads an error of the server.
func refusal(resp *http.Response, answer []byte) error {
	e := &Error{Status: resp.StatusCode}
	var body api.ErrorBody
	if json.Unmarshal(answer, &body) == nil && body.Error.Message != "" {
		e.Failure = body.Error
	} else {
		e.Message = fmt.Sprintf("the server answered %s, and not as Triad does: check the URL", resp.Status)
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(min(seconds, 3600)) * time.Second
	}
	return e
}
