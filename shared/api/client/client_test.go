package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/api"
	"triad/shared/api/apitest"
	"triad/shared/api/client"
	"triad/shared/operator"
	"triad/shared/task"
)

// serving returns a client of a server with this handler.
func serving(t *testing.T, h http.Handler) *client.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{URL: server.URL + "/"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const order1 = `{"id":"order-1","workflow":"order","order":{"refuse":"charge"},"responseQueue":"shop"}`

func TestEveryCallReachesItsRoute(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := apitest.New(t, nil)
	c := serving(t, d)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(c.Healthy(ctx))
	accepted, already, err := c.Submit(ctx, []byte(order1))
	ok(err)
	want := api.Accepted{ID: "order-1", Workflow: "order@1", State: task.Processing, Location: "/v1/tasks/order-1"}
	if diff := cmp.Diff(want, accepted); diff != "" || already {
		t.Errorf("already %t, %s", already, diff)
	}
	_, already, err = c.Submit(ctx, []byte(order1))
	ok(err)
	if !already {
		t.Error("submitted again, it does not say so")
	}
	d.Settle(t)
	page, err := c.Tasks(ctx, client.Query{State: task.Error, Workflow: "order", Limit: 5})
	ok(err)
	if len(page.Tasks) != 1 || page.Tasks[0].ID != "order-1" {
		t.Errorf("the tasks in Error are %+v", page)
	}
	got, err := c.Ask(ctx, "order-1", operator.Ask{Verb: operator.Undo, Reason: "x"})
	ok(err)
	if got.Goal != task.Compensated || got.Reason != "x" {
		t.Errorf("the task is on its way to %s because %q", got.Goal, got.Reason)
	}
	flows, err := c.Workflows(ctx)
	ok(err)
	if len(flows) != 2 {
		t.Errorf("there are the workflows %+v", flows)
	}
	notices, err := c.Notices(ctx, "shop", 0, 1, time.Second)
	ok(err)
	if len(notices.Notices) != 1 || notices.Next == 0 {
		t.Errorf("the first page of notices is %+v", notices)
	}
	ok(c.Acknowledge(ctx, "shop", notices.Notices[0].Seq))
	alerts, err := c.Alerts(ctx, 0, 10)
	ok(err)
	if len(alerts.Alerts) != 1 {
		t.Errorf("the alerts are %+v", alerts)
	}
	ok(c.Enqueue(ctx, []byte("nonsense")))
	rejected, err := c.Rejected(ctx, 0, 0)
	ok(err)
	if len(rejected.Rejected) != 1 {
		t.Fatalf("rejected are %+v", rejected)
	}
	examined, err := c.Examine(ctx, true, true)
	ok(err)
	if examined.Healthy || !examined.Full {
		t.Errorf("with a rejected message, the examination is %+v", examined)
	}
	accepted, err = c.Resend(ctx, rejected.Rejected[0].Seq, []byte(strings.Replace(order1, "order-1", "order-2", 1)))
	ok(err)
	if accepted.ID != "order-2" {
		t.Errorf("resent, it is %+v", accepted)
	}
	ok(c.Dismiss(ctx, rejected.Rejected[0].Seq))
}

func TestRefusalsAreTyped(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, nil)
	c := serving(t, d)
	if _, _, err := c.Submit(t.Context(), []byte(order1)); err != nil {
		t.Fatal(err)
	}
	_, missing := c.Task(t.Context(), "nobody")
	_, _, different := c.Submit(t.Context(), []byte(strings.Replace(order1, "charge", "other", 1)))
	_, _, invalid := c.Submit(t.Context(), []byte(`{"id":7}`))
	full := apitest.New(t, func(c *api.Config) { c.Full = func() (time.Duration, bool) { return 3 * time.Second, true } })
	_, _, busy := serving(t, full).Submit(t.Context(), []byte(order1))
	sick := apitest.New(t, func(c *api.Config) { c.Ready = func() error { return errors.New("ill") } })
	unready := serving(t, sick).Healthy(t.Context())
	kinds := []error{client.ErrNotFound, client.ErrConflict, client.ErrInvalid, client.ErrFull, client.ErrUnavailable, client.ErrUnreachable}
	for i, err := range []error{missing, different, invalid, busy, unready} {
		for j, kind := range kinds {
			if got, want := errors.Is(err, kind), i == j; got != want {
				t.Errorf("%v is %v: got %t, want %t", err, kind, got, want)
			}
		}
	}
	var refusal *client.Error
	if !errors.As(busy, &refusal) || refusal.RetryAfter != 3*time.Second || refusal.Code != api.CodeFull {
		t.Errorf("the full server is told as %+v", refusal)
	}
	if !errors.As(invalid, &refusal) || refusal.Field != "id" {
		t.Errorf("the invalid submission is told as %+v", refusal)
	}
}

func TestServerThatIsNotThereIsUnreachableWithAHint(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := client.New(client.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Healthy(t.Context())
	if !errors.Is(err, client.ErrUnreachable) || !strings.Contains(err.Error(), "triad dev") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Healthy(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, client.ErrUnreachable) {
		t.Errorf("the caller's own end is told as %v", err)
	}
}

func TestServerThatIsAnotherIsToldSo(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"a page": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.com/", http.StatusTemporaryRedirect)
		},
		"plain errors": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) },
	} {
		_, err := serving(t, h).Task(t.Context(), "order-1")
		if err == nil || !strings.Contains(err.Error(), "as Triad does") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAddressOfNoServerIsRefused(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "localhost:7070", "ftp://localhost", "http://", "http://x?y=z", "http://x#y", "://"} {
		if _, err := client.New(client.Config{URL: url}); err == nil {
			t.Errorf("%q is taken", url)
		}
	}
}
