package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Client reads the effects of Services that run elsewhere, and switches their
// faults. It is safe for concurrent use.
type Client struct {
	// BaseURL is where they listen: http://127.0.0.1:7080.
	BaseURL string
	// HTTP makes the calls. Defaults to http.DefaultClient; ctx bounds a call.
	HTTP *http.Client
}

// Summary returns the counters of every service, by name.
func (c Client) Summary(ctx context.Context) (map[string]Summary, error) {
	var all map[string]Summary
	err := c.do(ctx, http.MethodGet, "/", nil, &all)
	return all, err
}

// Effects returns what a service knows, by id.
func (c Client) Effects(ctx context.Context, service string) ([]Effect, error) {
	var all []Effect
	err := c.do(ctx, http.MethodGet, "/"+url.PathEscape(service), nil, &all)
	return all, err
}

// Faults returns the rules that are set, by service.
func (c Client) Faults(ctx context.Context) (map[string]Faults, error) {
	var all map[string]Faults
	err := c.do(ctx, http.MethodGet, "/faults", nil, &all)
	return all, err
}

// SetFaults switches the faults of a service on, in place of those before.
func (c Client) SetFaults(ctx context.Context, service string, f Faults) error {
	return c.do(ctx, http.MethodPut, "/faults/"+url.PathEscape(service), f, nil)
}

// ClearFaults switches the faults of a service off.
func (c Client) ClearFaults(ctx context.Context, service string) error {
	return c.do(ctx, http.MethodDelete, "/faults/"+url.PathEscape(service), nil, nil)
}

// do makes a call that carries in, unless nil, and reads its answer into out,
// unless nil.
func (c Client) do(ctx context.Context, method, path string, in, out any) error {
	var content io.Reader = http.NoBody
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encoding for %s %s: %w", method, path, err)
		}
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.BaseURL, "/")+path, content)
	if err != nil {
		return fmt.Errorf("calling the remote services: %w", err)
	}
	resp, err := cmp.Or(c.HTTP, http.DefaultClient).Do(req)
	if err != nil {
		return fmt.Errorf("calling the remote services: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // the answer was read: nothing can be lost
	if resp.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1024)) // the code alone is an answer too
		return fmt.Errorf("%s %s answered %d: %s", method, req.URL, resp.StatusCode, bytes.TrimSpace(text))
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("reading the answer to %s %s: %w", method, req.URL, err)
	}
	return nil
}
