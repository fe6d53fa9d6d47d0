package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/remote"
)

func rules(r ...remote.Rule) remote.Faults { return remote.Faults{Rules: r} }

func TestWhichCallsAFaultHits(t *testing.T) {
	t.Parallel()
	const hit, ok = "503 failing on demand", "201"
	down := func(r remote.Rule) remote.Rule { r.Status = 503; return r }
	tests := map[string]struct {
		rule  remote.Rule
		calls []string
	}{
		"every call":              {down(remote.Rule{}), []string{"PUT inventory/a", hit, "PUT inventory/a", hit, "DELETE inventory/b", hit}},
		"another service":         {down(remote.Rule{}), []string{"PUT payment/a", ok}},
		"ids that match":          {down(remote.Rule{Match: "*late*"}), []string{"PUT inventory/x-late-1", hit, "PUT inventory/late", hit, "PUT inventory/lat", ok}},
		"beginning that matches":  {down(remote.Rule{Match: "a*"}), []string{"PUT inventory/a", hit, "PUT inventory/ab", hit, "PUT inventory/ba", ok}},
		"end that matches":        {down(remote.Rule{Match: "*a"}), []string{"PUT inventory/ba", hit, "PUT inventory/aab", ok}},
		"parts that match":        {down(remote.Rule{Match: "a*b*c"}), []string{"PUT inventory/aXbYc", hit, "PUT inventory/acb", ok, "PUT inventory/abx", ok}},
		"one id":                  {down(remote.Rule{Match: "a"}), []string{"PUT inventory/a", hit, "PUT inventory/ab", ok}},
		"one method":              {down(remote.Rule{Method: "DELETE"}), []string{"PUT inventory/a", ok, "DELETE inventory/a", hit}},
		"so many times per id":    {down(remote.Rule{Times: 2}), []string{"PUT inventory/a", hit, "PUT inventory/a", hit, "PUT inventory/a", ok, "PUT inventory/b", hit}},
		"refusal":                 {remote.Rule{Refuse: true}, []string{"PUT inventory/a", "422 refused on demand"}},
		"latency alone":           {remote.Rule{LatencyMs: 1}, []string{"PUT inventory/a", ok}},
		"effect though it failed": {down(remote.Rule{Times: 1, ApplyFirst: true}), []string{"PUT inventory/a", hit, "PUT inventory/a", "204"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, remote.Config{})
			if err := s.Client.SetFaults(t.Context(), "inventory", rules(tc.rule)); err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(tc.calls); i += 2 {
				if got, want := s.do(t, tc.calls[i]), tc.calls[i+1]; !strings.HasPrefix(got, want) {
					t.Errorf("call %d, %s: got %s, want %s", i/2+1, tc.calls[i], got, want)
				}
			}
		})
	}
}

func TestFaultsAreCounted(t *testing.T) {
	t.Parallel()
	s := open(t, remote.Config{})
	if err := s.Services.SetFaults("inventory", rules(remote.Rule{Match: "f", Status: 500}, remote.Rule{Match: "r", Refuse: true})); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"PUT inventory/f", "PUT inventory/r", "PUT inventory/a"} {
		s.do(t, call)
	}
	want := remote.Summary{Calls: 3, Effects: 1, Applied: 1, Failed: 1, Refused: 1}
	if diff := cmp.Diff(want, s.Services.Summary()["inventory"]); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestServiceThatIsDownClosesTheConnection(t *testing.T) {
	t.Parallel()
	s := open(t, remote.Config{})
	if err := s.Services.SetFaults("inventory", rules(remote.Rule{Down: true, ApplyFirst: true})); err != nil {
		t.Fatal(err)
	}
	if code, _, err := s.try(t, "PUT inventory/a k"); err == nil {
		t.Errorf("got an answer, %d", code)
	}
	if e, _ := s.Services.Effects("inventory"); len(e) != 1 || e[0].Applied != 1 {
		t.Errorf("got %+v, want the effect of the call whose reply was lost", e)
	}
}

func TestServiceThatHangsWaitsForTheClientToLeave(t *testing.T) {
	t.Parallel()
	s := remote.New(remote.Config{})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan any)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { left <- recover() }()
		leave()
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	if err := s.SetFaults("inventory", rules(remote.Rule{Hang: true})); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, srv.URL+"/inventory/a", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := srv.Client().Do(req); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the client gave up", err)
	}
	if got := <-left; got != http.ErrAbortHandler {
		t.Errorf("handler ended with %v, want that it closed the connection", got)
	}
}

// record calls the services without a socket, so that time can be faked.
func record(s *remote.Services, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestFaultsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := remote.New(remote.Config{})
		if err := s.SetFaults("inventory", rules(remote.Rule{LatencyMs: 5},
			remote.Rule{LatencyMs: 10, Status: 429, RetryAfterS: 3, ForMs: 8000}, remote.Rule{LatencyMs: 100})); err != nil {
			t.Fatal(err)
		}
		call := func(wantCode int, wantWait time.Duration) http.Header {
			t.Helper()
			start := time.Now()
			w := record(s, http.MethodPut, "/inventory/"+start.Format("150405.000"))
			if got := time.Since(start); w.Code != wantCode || got != wantWait {
				t.Errorf("got %d after %v, want %d after %v", w.Code, got, wantCode, wantWait)
			}
			return w.Header()
		}
		if got := call(429, 15*time.Millisecond).Get("Retry-After"); got != "3" {
			t.Errorf("got Retry-After %q, want 3", got)
		}
		<-time.After(8 * time.Second)
		call(201, 105*time.Millisecond)
	})
}

func TestShareOfTheCalls(t *testing.T) {
	t.Parallel()
	struck := func(seed uint64) string {
		s := remote.New(remote.Config{Seed: seed})
		if err := s.SetFaults("inventory", rules(remote.Rule{Share: 0.2, Status: 503})); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for i := range 1000 {
			fmt.Fprint(&b, record(s, http.MethodPut, fmt.Sprintf("/inventory/o-%d", i%100)).Code/500)
		}
		return b.String()
	}
	first := struck(1)
	if n := strings.Count(first, "1"); n < 150 || n > 250 {
		t.Errorf("got %d of 1,000 calls struck, want about 200", n)
	}
	if struck(1) != first {
		t.Error("the same seed strikes other calls")
	}
	if struck(2) == first {
		t.Error("another seed strikes the same calls")
	}
}

func TestFaultsAreSetAndCleared(t *testing.T) {
	t.Parallel()
	s := open(t, remote.Config{})
	set := rules(remote.Rule{Match: "*late*", LatencyMs: 5, Share: 0.2}, remote.Rule{Down: true, Times: 1})
	if err := s.Client.SetFaults(t.Context(), "inventory", set); err != nil {
		t.Fatal(err)
	}
	got, err := s.Client.Faults(t.Context())
	if diff := cmp.Diff(map[string]remote.Faults{"inventory": set}, got); err != nil || diff != "" {
		t.Errorf("faults (-want +got), %v:\n%s", err, diff)
	}
	if err := s.Client.ClearFaults(t.Context(), "inventory"); err != nil {
		t.Fatal(err)
	}
	if got := s.Services.Faults(); len(got) != 0 {
		t.Errorf("got %v, want none", got)
	}
	if got := s.do(t, "PUT inventory/a"); !strings.HasPrefix(got, "201") {
		t.Errorf("got %s from a service without faults", got)
	}
}

func TestFaultsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	s := open(t, remote.Config{})
	tests := map[string]string{
		`hello`:                                                      "400 setting faults of inventory: invalid character",
		`{"rules":[{"colour":"red"}]}`:                               `unknown field "colour"`,
		`{"rules":[]}`:                                               "no rules",
		`{"rules":[{"down":true}]} {}`:                               "something follows",
		`{"rules":[{"match":"a"}]}`:                                  "rule 1 of inventory: does nothing",
		`{"rules":[{"down":true},{"latencyMs":-1}]}`:                 "rule 2 of inventory: latencyMs -1",
		`{"rules":[{"down":true,"hang":true}]}`:                      "has several answers",
		`{"rules":[{"status":200}]}`:                                 "status 200: use 300 to 599",
		`{"rules":[{"status":503,"share":1.5}]}`:                     "share 1.5",
		`{"rules":[{"status":503,"method":"STEAL"}]}`:                `method "STEAL"`,
		`{"rules":[{"status":503,"times":-1}]}`:                      "must not be negative",
		`{"rules":[{"latencyMs":1,"retryAfterS":1}]}`:                "retryAfterS needs an answer",
		`{"rules":[{"latencyMs":1,"applyFirst":true}]}`:              "applyFirst needs an answer",
		`{"rules":[{"match":"` + strings.Repeat("x", 1<<20) + `"}]}`: "too large",
	}
	for body, want := range tests {
		if got := s.do(t, "PUT faults/inventory k "+body); !strings.HasPrefix(got, "400 ") || !strings.Contains(got, want) {
			t.Errorf("%.60s: got %s, want %q", body, got, want)
		}
	}
	for _, call := range []string{"PUT faults/bakery k {}", "DELETE faults/bakery"} {
		if got := s.do(t, call); !strings.HasPrefix(got, "404 no service") {
			t.Errorf("%s: got %s", call, got)
		}
	}
	if len(s.Services.Faults()) > 0 || s.Services.ClearFaults("bakery") == nil {
		t.Error("something was set")
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	s := remote.New(remote.Config{})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(t.Context(), l.Addr().String()); err == nil {
		t.Fatal("served on an address that is taken")
	}
	if err := s.SetFaults("inventory", rules(remote.Rule{Hang: true})); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- s.ServeOn(ctx, l) }()
	client := remote.Client{BaseURL: "http://" + l.Addr().String() + "/", HTTP: &http.Client{Transport: new(http.Transport)}}
	if _, err := client.Summary(t.Context()); err != nil {
		t.Fatal(err)
	}
	hanging := make(chan error)
	go func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, client.BaseURL+"inventory/a", http.NoBody)
		if err == nil {
			_, err = client.HTTP.Do(req)
		}
		hanging <- err
	}()
	for s.Summary()["inventory"].Failed == 0 {
		runtime.Gosched() // until the call hangs
	}
	stop()
	if err := <-served; err != nil {
		t.Errorf("got %v, want that it stopped", err)
	}
	if err := <-hanging; err == nil {
		t.Error("the call that hung was answered")
	}
	if _, err := client.Summary(t.Context()); err == nil {
		t.Error("it still answers")
	}
}
