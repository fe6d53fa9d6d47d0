package payment_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/agent"
	"triad/shared/agent/payment"
	"triad/shared/remote"
	"triad/shared/task"
)

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

func request() task.Request {
	return task.Request{Task: "o-1", Workflow: "order@1", Step: "charge", Agent: "payment", Attempt: 2, LockedBy: "s-1",
		CompleteBy: task.At(time.Now().Add(time.Minute)), Key: "o-1/charge", Input: json.RawMessage(`{"customer":"Ada","amount":12.50}`)}
}

// serve starts a payment service and an agent for it.
func serve(t *testing.T, h http.Handler, timeout time.Duration) *payment.Payment {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	p, err := payment.New(payment.Config{URL: srv.URL + "/", Timeout: timeout, Transport: srv.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAmountsAreCheckedBeforeTheCall(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ input, want, text string }{
		"an amount":        {`{"customer":"Ada","amount":12.50}`, succeeds, ""},
		"nothing to pay":   {`{"amount":0}`, succeeds, ""},
		"negative":         {`{"amount":-1}`, permanent, "the amount of the charge is -1: it must not be negative"},
		"missing":          {`{"customer":"Ada"}`, permanent, "the charge has no amount"},
		"null":             {`{"amount":null}`, permanent, "the charge has no amount"},
		"not a number":     {`{"amount":"12"}`, permanent, "reading the input of a charge"},
		"beyond all money": {`{"amount":1e999}`, permanent, "reading the input of a charge"},
		"no input":         {``, permanent, "reading the input of a charge"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			services := remote.New(remote.Config{})
			r := request()
			r.Input = json.RawMessage(tc.input)
			_, err := serve(t, services, 0).Call(t.Context(), r)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if outcome(err) != tc.want || !strings.HasPrefix(text, tc.text) {
				t.Errorf("got %s (%v), want %s, %q", outcome(err), err, tc.want, tc.text)
			}
			if calls := services.Summary()["payment"].Calls; (calls > 0) != (tc.want == succeeds) {
				t.Errorf("the service was called %d times", calls)
			}
		})
	}
}

func TestWhatTheServiceSees(t *testing.T) {
	t.Parallel()
	type wire struct{ Method, URI, Body, Key string }
	for name, tc := range map[string]struct {
		undo bool
		want wire
	}{
		"charge": {false, wire{"PUT", "/payment/o-1", `{"customer":"Ada","amount":12.50}`, "o-1/charge"}},
		"undo":   {true, wire{"DELETE", "/payment/o-1", "", "o-1/charge/undo"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan wire, 1)
			p := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				seen <- wire{r.Method, r.RequestURI, string(body), r.Header.Get("Idempotency-Key")}
				w.WriteHeader(http.StatusNoContent)
			}), 0)
			r := request()
			r.Undo = tc.undo
			if _, err := p.Call(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, <-seen); diff != "" {
				t.Errorf("call (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		undo   bool
		code   int
		body   string
		after  string
		want   string
		output string
		wait   time.Duration
	}{
		"charged":                      {code: 201, body: `{"id":"o-1","service":"payment"}`, want: succeeds, output: `{"id":"o-1"}`},
		"charged before":               {code: 204, want: succeeds, output: `{"id":"o-1"}`},
		"charged, answer unreadable":   {code: 200, body: `<html>`, want: permanent},
		"charged, answer empty":        {code: 200, want: permanent},
		"charged, another payment":     {code: 200, body: `{"id":"o-2"}`, want: permanent},
		"no money":                     {code: 402, body: "card declined", want: permanent},
		"blocked":                      {code: 403, want: permanent},
		"conflict":                     {code: 409, want: permanent},
		"not to be processed":          {code: 422, want: permanent},
		"wrong address":                {code: 404, want: permanent},
		"undone before":                {code: 410, want: permanent},
		"redirect":                     {code: 307, want: permanent},
		"took too long":                {code: 408, want: transient},
		"too many calls":               {code: 429, after: "7", want: transient, wait: 7 * time.Second},
		"busy":                         {code: 503, after: "120", want: transient, wait: 2 * time.Minute},
		"busy, no word when":           {code: 503, want: transient},
		"busy, asks for days":          {code: 503, after: "864000", want: transient},
		"busy, a date":                 {code: 503, after: "Fri, 02 Jan 2026 03:05:05 GMT", want: transient},
		"broken":                       {code: 500, after: "7", want: transient},
		"bad gateway":                  {code: 502, want: transient},
		"taken back":                   {undo: true, code: 204, want: succeeds},
		"taken back, whatever it says": {undo: true, code: 200, body: `<html>`, want: succeeds},
		"nothing to take back":         {undo: true, code: 404, want: succeeds},
		"taken back for good":          {undo: true, code: 410, want: succeeds},
		"not to be taken back":         {undo: true, code: 409, want: permanent},
		"undo while busy":              {undo: true, code: 503, after: "1", want: transient, wait: time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.Header().Set("Retry-After", tc.after)
				w.WriteHeader(tc.code)
				_, _ = io.WriteString(w, tc.body)
			}), 0)
			r := request()
			r.Undo = tc.undo
			out, err := p.Call(t.Context(), r)
			if outcome(err) != tc.want || string(out) != tc.output || agent.Wait(err) != tc.wait {
				t.Errorf("got %s (%v), %s, wait %v; want %s, %s, wait %v", outcome(err), err, out, agent.Wait(err), tc.want, tc.output, tc.wait)
			}
		})
	}
}

func TestCallsWithoutAnAnswerAreTriedAgain(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx   context.Context
		fault remote.Rule
		cause error
	}{
		"connection is cut":   {t.Context(), remote.Rule{Down: true}, nil},
		"service hangs":       {t.Context(), remote.Rule{Hang: true}, context.DeadlineExceeded},
		"the attempt is over": {cancelled, remote.Rule{Hang: true}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			services := remote.New(remote.Config{})
			if err := services.SetFaults("payment", remote.Faults{Rules: []remote.Rule{tc.fault}}); err != nil {
				t.Fatal(err)
			}
			_, err := serve(t, services, 200*time.Millisecond).Call(tc.ctx, request())
			if outcome(err) != transient || tc.cause != nil && !errors.Is(err, tc.cause) {
				t.Errorf("got %s (%v), want %s, %v", outcome(err), err, transient, tc.cause)
			}
		})
	}
}

func TestAnAddressThatCannotBeCalled(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "127.0.0.1:7080", "ftp://services", "http://", "http://a b"} {
		if _, err := payment.New(payment.Config{URL: url}); err == nil {
			t.Errorf("%q: no error", url)
		}
	}
}
