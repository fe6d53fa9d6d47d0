package httpagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/agent"
	"triad/shared/agent/httpagent"
	"triad/shared/task"
)

func request() task.Request {
	return task.Request{Task: "o-1", Workflow: "order@1", Step: "reserve", Agent: "inventory", Attempt: 2, LockedBy: "s-1",
		CompleteBy: 1, Key: "o-1/reserve", Input: json.RawMessage(`{"sku":"A"}`), Output: json.RawMessage(`{"id":7}`), Tenant: "acme"}
}

// serve starts a service and an agent for it; change may be nil.
func serve(t *testing.T, h http.HandlerFunc, change func(*httpagent.Config)) *httpagent.Agent {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	cfg := httpagent.Config{Name: "inventory", URL: srv.URL + "/inventory/{task}"}
	if change != nil {
		change(&cfg)
	}
	cfg.URL = strings.Replace(cfg.URL, "SERVICE", srv.URL, 1)
	a, err := httpagent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// wire is what a service saw of a call.
type wire struct{ Method, URI, Body, Key, Type, Task, Step, Attempt, Shop string }

func TestWhatAServiceSees(t *testing.T) {
	t.Parallel()
	common := wire{Method: "PUT", URI: "/inventory/o-1", Body: `{"sku":"A"}`, Key: "o-1/reserve", Type: "application/json",
		Task: "o-1", Step: "reserve", Attempt: "2"}
	change := func(f func(*wire)) wire { w := common; f(&w); return w }
	tests := map[string]struct {
		config  func(*httpagent.Config)
		request func(*task.Request)
		want    wire
	}{
		"work": {nil, nil, common},
		"work without input": {nil, func(r *task.Request) { r.Input = nil },
			change(func(w *wire) { w.Body, w.Type = "", "" })},
		"method, headers, no body": {func(c *httpagent.Config) {
			c.Method, c.Body, c.Headers = "POST", httpagent.BodyNone, map[string]string{"X-Shop": "demo"}
		}, nil, change(func(w *wire) { w.Method, w.Body, w.Type, w.Shop = "POST", "", "", "demo" })},
		"undo": {nil, func(r *task.Request) { r.Undo = true },
			change(func(w *wire) { w.Method, w.Body, w.Type, w.Key = "DELETE", "", "", "o-1/reserve/undo" })},
		"undo described otherwise": {func(c *httpagent.Config) {
			c.Undo = httpagent.Undo{Method: "POST", URL: strings.Replace(c.URL, "{task}", "{task}/cancel", 1), Body: httpagent.BodyOutput}
		}, func(r *task.Request) { r.Undo = true }, change(func(w *wire) {
			w.Method, w.URI, w.Body, w.Key = "POST", "/inventory/o-1/cancel", `{"id":7}`, "o-1/reserve/undo"
		})},
		"every variable, escaped": {func(c *httpagent.Config) { c.URL = "SERVICE/{tenant}/{key}/{step}?for={tenant}" },
			func(r *task.Request) { r.Tenant = "a/b&c?d" },
			change(func(w *wire) { w.URI = "/a%2Fb&c%3Fd/o-1%2Freserve/reserve?for=a%2Fb%26c%3Fd" })},
		"a value that would climb": {func(c *httpagent.Config) { c.URL = "SERVICE/x/{tenant}/y" },
			func(r *task.Request) { r.Tenant = ".." }, change(func(w *wire) { w.URI = "/x/%2E%2E/y" })},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan wire, 1)
			a := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				seen <- wire{r.Method, r.RequestURI, string(body), r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type"),
					r.Header.Get("Triad-Task"), r.Header.Get("Triad-Step"), r.Header.Get("Triad-Attempt"), r.Header.Get("X-Shop")}
			}, tc.config)
			r := request()
			if tc.request != nil {
				tc.request(&r)
			}
			if _, err := a.Call(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, <-seen); diff != "" {
				t.Errorf("call (-want +got):\n%s", diff)
			}
		})
	}
}

// What a call can come to.
const (
	succeeds  = "succeeds"
	permanent = "permanent"
	transient = "transient"
)

func outcome(err error) string {
	switch {
	case err == nil:
		return succeeds
	case agent.IsPermanent(err):
		return permanent
	}
	return transient
}

func TestWhatACodeMeans(t *testing.T) {
	t.Parallel()
	listed := func(c *httpagent.Config) {
		c.Success = []httpagent.Codes{{From: 200, To: 201}, {From: 409, To: 409}}
		c.Permanent = []httpagent.Codes{{From: 404, To: 404}, {From: 501, To: 501}}
		c.Transient = []httpagent.Codes{{From: 400, To: 403}}
	}
	undoListed := func(c *httpagent.Config) { c.Undo.Success = []httpagent.Codes{{From: 204, To: 204}} }
	tests := []struct {
		name   string
		config func(*httpagent.Config)
		undo   bool
		code   int
		want   string
	}{
		{"default", nil, false, 200, succeeds},
		{"default", nil, false, 201, succeeds},
		{"default", nil, false, 204, succeeds},
		{"default", nil, false, 302, permanent},
		{"default", nil, false, 400, permanent},
		{"default", nil, false, 404, permanent},
		{"default", nil, false, 408, transient},
		{"default", nil, false, 409, permanent},
		{"default", nil, false, 410, permanent},
		{"default", nil, false, 425, transient},
		{"default", nil, false, 429, transient},
		{"default", nil, false, 500, transient},
		{"default", nil, false, 503, transient},
		{"default", nil, false, 799, transient},
		{"default undo", nil, true, 204, succeeds},
		{"default undo", nil, true, 404, succeeds},
		{"default undo", nil, true, 410, succeeds},
		{"default undo", nil, true, 409, permanent},
		{"default undo", nil, true, 500, transient},
		{"listed", listed, false, 409, succeeds},
		{"listed", listed, false, 204, transient},
		{"listed", listed, false, 404, permanent},
		{"listed", listed, false, 501, permanent},
		{"listed", listed, false, 403, transient},
		{"listed", listed, true, 404, succeeds},
		{"listed", listed, true, 501, permanent},
		{"undo listed", undoListed, true, 404, permanent},
	}
	for _, tc := range tests {
		t.Run(tc.name+" "+http.StatusText(tc.code), func(t *testing.T) {
			t.Parallel()
			a := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tc.code) }, tc.config)
			r := request()
			r.Undo = tc.undo
			_, err := a.Call(t.Context(), r)
			if got := outcome(err); got != tc.want {
				t.Errorf("code %d: got %s (%v), want %s", tc.code, got, err, tc.want)
			}
		})
	}
}

func TestWhatAnAnswerBecomes(t *testing.T) {
	t.Parallel()
	answer := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	small := func(c *httpagent.Config) { c.ResponseLimit = 8 }
	tests := map[string]struct {
		service http.HandlerFunc
		config  func(*httpagent.Config)
		output  string
		outcome string
		text    string
	}{
		"JSON is the output":       {answer(200, `{"id":1}`), nil, `{"id":1}`, succeeds, ""},
		"no body, no output":       {answer(204, ""), nil, "", succeeds, ""},
		"other text, no output":    {answer(200, "created"), nil, "", succeeds, ""},
		"exactly the limit":        {answer(200, `{"id":1}`), small, `{"id":1}`, succeeds, ""},
		"more than the limit":      {answer(200, `{"id":10}`), small, "", permanent, "inventory answered 200 with more than responseLimit, 8 bytes"},
		"reason of a refusal":      {answer(422, "out of\n  stock"), small, "", permanent, "inventory answered 422: out of stock"},
		"long reason is cut":       {answer(500, strings.Repeat("x", 5000)), nil, "", transient, "inventory answered 500: " + strings.Repeat("x", 256)},
		"redirect is not followed": {http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect).ServeHTTP, nil, "", permanent, "inventory answered 307 (redirects are not followed)"},
		"connection is cut": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, "", transient,
			"calling inventory: EOF"},
		"answer is cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"id":`)
		}, nil, "", transient, "reading the answer of inventory: unexpected EOF"},
		"no value for the url": {answer(200, ""), func(c *httpagent.Config) { c.URL += "/{tenant}" }, "", permanent,
			"making the call of inventory: request has no tenant, but the agent's url needs it"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request()
			r.Tenant = ""
			out, err := serve(t, tc.service, tc.config).Call(t.Context(), r)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if string(out) != tc.output || outcome(err) != tc.outcome || !strings.HasPrefix(text, tc.text) {
				t.Errorf("got %q, %s, %q\nwant %q, %s, %q", out, outcome(err), text, tc.output, tc.outcome, tc.text)
			}
		})
	}
}

func TestServiceThatIsNotThere(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	a, err := httpagent.New(httpagent.Config{Name: "inventory", URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Call(t.Context(), request()); outcome(err) != transient {
		t.Errorf("got %v, want a transient error", err)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := map[string]struct {
		header string
		want   time.Duration
	}{
		"absent":        {"", 0},
		"seconds":       {"7", 7 * time.Second},
		"date":          {"Fri, 02 Jan 2026 03:05:05 GMT", time.Minute},
		"date gone by":  {"Fri, 02 Jan 2026 03:04:00 GMT", 0},
		"negative":      {"-1", 0},
		"unreadable":    {"soon", 0},
		"absurdly long": {"999999999", 24 * time.Hour},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", tc.header)
				w.WriteHeader(http.StatusServiceUnavailable)
			}, func(c *httpagent.Config) { c.Clock = func() time.Time { return now } })
			_, err := a.Call(t.Context(), request())
			if got := agent.Wait(err); got != tc.want || outcome(err) != transient {
				t.Errorf("got wait %v (%v), want %v", got, err, tc.want)
			}
		})
	}
}

func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	from, calls := make(map[string]bool), 0
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		// An answer that is faster than its request costs the connection.
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		from[r.RemoteAddr] = true
		calls++
		w.WriteHeader([]int{200, 404, 429}[calls%3])
		_, _ = io.WriteString(w, strings.Repeat("x", 20_000))
	}, nil)
	for range 12 {
		_, _ = a.Call(t.Context(), request())
	}
	mu.Lock()
	defer mu.Unlock()
	if len(from) != 1 || calls != 12 {
		t.Errorf("got %d connections for %d calls, want one for 12", len(from), calls)
	}
}

func TestCallsAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	a := serve(t, func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	}, func(c *httpagent.Config) { c.Concurrency = 2 })
	results := make(chan error)
	for range 2 {
		go func() { _, err := a.Call(t.Context(), request()); results <- err }()
		<-entered
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Call(ended, request()); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "waiting for one of 2 calls") {
		t.Errorf("got %v, want that the third call waited until its context ended", err)
	}
	close(release)
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}
