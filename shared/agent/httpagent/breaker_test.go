package httpagent_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"triad/shared/agent"
	"triad/shared/agent/httpagent"
)

// service is a transport that answers by itself, so that time can be faked.
type service func(*http.Request) (*http.Response, error)

func (s service) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

func status(code int) service {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Body: http.NoBody, Header: make(http.Header)}, nil
	}
}

// hang answers when the caller has gone.
func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestCircuitBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, answer := 0, status(503)
		counters := new(agent.Counters)
		a, err := httpagent.New(httpagent.Config{Name: "inventory", URL: "http://shop/{task}", Counters: counters,
			Breaker:   httpagent.Breaker{Failures: 3, Open: 5 * time.Second},
			Transport: service(func(r *http.Request) (*http.Response, error) { calls++; return answer(r) })})
		if err != nil {
			t.Fatal(err)
		}
		call := func(wantOutcome string, wantCalls int) error {
			t.Helper()
			_, err := a.Call(t.Context(), request())
			if outcome(err) != wantOutcome || calls != wantCalls {
				t.Fatalf("got %s (%v) and %d calls, want %s and %d", outcome(err), err, calls, wantOutcome, wantCalls)
			}
			return err
		}
		call(transient, 1)
		call(transient, 2)
		answer = status(422)
		call(permanent, 3) // an answer of a healthy service: the count begins again
		answer = status(503)
		call(transient, 4)
		call(transient, 5)
		call(transient, 6)
		err = call(transient, 6) // open
		if got, want := agent.Wait(err), 5*time.Second+time.Millisecond; got != want || !strings.Contains(err.Error(), "circuit breaker is open") {
			t.Errorf("got wait %v (%v), want %v", got, err, want)
		}
		<-time.After(2 * time.Second)
		if got, want := agent.Wait(call(transient, 6)), 3*time.Second+time.Millisecond; got != want {
			t.Errorf("got wait %v, want the rest, %v", got, want)
		}
		<-time.After(3*time.Second + time.Millisecond)
		call(transient, 7) // half-open: one call, which fails
		call(transient, 7)
		<-time.After(5*time.Second + time.Millisecond)
		answer = status(204)
		call(succeeds, 8)
		call(succeeds, 9)
		if got := counters.Stats().BreakerOpens; got != 2 {
			t.Errorf("got %d opens, want 2", got)
		}
	})
}

func TestHalfOpenBreakerLetsOneCallThrough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := status(503)
		a, err := httpagent.New(httpagent.Config{Name: "inventory", URL: "http://shop/{task}", Timeout: 2 * time.Second,
			Breaker:   httpagent.Breaker{Failures: 1, Open: 5 * time.Second},
			Transport: service(func(r *http.Request) (*http.Response, error) { return answer(r) })})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = a.Call(t.Context(), request())
		<-time.After(6 * time.Second)
		answer = hang
		go func() { _, _ = a.Call(t.Context(), request()) }()
		synctest.Wait()
		_, err = a.Call(t.Context(), request())
		if got := agent.Wait(err); got != 2*time.Second || outcome(err) != transient {
			t.Errorf("got wait %v (%v), want the time of the call under way, 2s", got, err)
		}
	})
}

func TestShutdownIsNoFailureOfTheService(t *testing.T) {
	t.Parallel()
	answer := service(hang)
	a, err := httpagent.New(httpagent.Config{Name: "inventory", URL: "http://shop/{task}", Breaker: httpagent.Breaker{Failures: 1},
		Transport: service(func(r *http.Request) (*http.Response, error) { return answer(r) })})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(0, cancel)
	if _, err := a.Call(ctx, request()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	answer = status(200)
	if _, err := a.Call(t.Context(), request()); err != nil {
		t.Errorf("got %v: the breaker counted the shutdown", err)
	}
}

func TestTimeOfATry(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		timeout, deadline, want time.Duration
		text                    string
	}{
		"timeout":                     {2 * time.Second, time.Minute, 2 * time.Second, "calling inventory: no answer within 2s"},
		"no timeout: the deadline":    {0, time.Minute, time.Minute, "calling inventory: context deadline exceeded"},
		"deadline before the timeout": {2 * time.Second, time.Second, time.Second, "calling inventory: no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, err := httpagent.New(httpagent.Config{Name: "inventory", URL: "http://shop/", Timeout: tc.timeout, Transport: service(hang)})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), tc.deadline)
				defer cancel()
				start := time.Now()
				_, err = a.Call(ctx, request())
				if got := time.Since(start); got != tc.want || outcome(err) != transient || !strings.HasPrefix(err.Error(), tc.text) {
					t.Errorf("got %v after %v, want %q after %v", err, got, tc.text, tc.want)
				}
			})
		})
	}
}
