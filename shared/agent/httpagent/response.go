package httpagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"triad/shared/agent"
)

// Limits of what is read of an answer beyond an output, bytes.
const (
	maxSnippet = 256      // quoted in an error
	maxDrain   = 64 << 10 // read so that the connection can be kept
)

// longestWait is the most that a service's Retry-After counts for.
const longestWait = 24 * time.Hour

// output reads the answer to a success: its body when that is JSON, else nil.
func (a *Agent) output(resp *http.Response) (json.RawMessage, error) {
	limit := a.cfg.ResponseLimit
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 && n <= limit {
		b.Grow(int(n) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", a.cfg.Name, err)
	}
	if n > limit {
		return nil, agent.Unusable(fmt.Errorf("%s answered %d with more than responseLimit, %d bytes: raise the limit or have it answer less",
			a.cfg.Name, resp.StatusCode, limit))
	}
	if !json.Valid(b.Bytes()) {
		return nil, nil
	}
	return b.Bytes(), nil
}

// refusal is the error of an answer that is no success, with its first words.
func (a *Agent) refusal(resp *http.Response) error {
	note := ""
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		note = " (redirects are not followed)"
	}
	// What can't be read is left out: the code alone decides.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxSnippet))
	if text := strings.Join(strings.Fields(string(body)), " "); text != "" {
		note += ": " + text
	}
	return fmt.Errorf("%s answered %d%s", a.cfg.Name, resp.StatusCode, note)
}

// drain reads a short rest, so that the connection can be used again, and
// closes the body. Neither can change the outcome any more.
func drain(body io.ReadCloser) {
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxDrain))
	_ = body.Close()
}

// retryAfter reads the header: seconds or an HTTP date. What can't be read is
// no wish.
func retryAfter(header string, now time.Time) time.Duration {
	if header == "" {
		return 0
	}
	if s, err := strconv.ParseInt(strings.TrimSpace(header), 10, 32); err == nil {
		return min(max(0, time.Duration(s)*time.Second), longestWait)
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), longestWait)
}
