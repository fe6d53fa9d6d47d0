package httpagent_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/agent"
	"triad/shared/agent/httpagent"
	"triad/shared/queue"
	"triad/shared/remote"
	"triad/shared/task"
)

// outbox keeps what an agent sends.
type outbox []queue.Message

func (o *outbox) Send(_ context.Context, msgs ...queue.Message) error {
	*o = append(*o, msgs...)
	return nil
}

// The whole chain, from a request message to the effect at the service.
func TestEffectsCountOnce(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault   remote.Rule
		undo    bool // of a step whose request was lost
		want    task.Outcome
		applied int
	}{
		"no fault":                        {remote.Rule{LatencyMs: 1}, false, task.Succeeded, 1},
		"reply lost, connection closed":   {remote.Rule{Down: true, ApplyFirst: true, Times: 1}, false, task.Succeeded, 1},
		"reply lost, answered 503 twice":  {remote.Rule{Status: 503, ApplyFirst: true, Times: 2}, false, task.Succeeded, 1},
		"service hangs once":              {remote.Rule{Hang: true, Times: 1}, false, task.Succeeded, 1},
		"service is down":                 {remote.Rule{Down: true}, false, task.FailedTransiently, 0},
		"service refuses":                 {remote.Rule{Refuse: true}, false, task.FailedPermanently, 0},
		"undo of what was never created":  {remote.Rule{LatencyMs: 1}, true, task.Succeeded, 0},
		"undo that succeeds at the third": {remote.Rule{Status: 500, Times: 2}, true, task.Succeeded, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			services := remote.New(remote.Config{})
			srv := httptest.NewServer(services)
			t.Cleanup(srv.Close)
			if err := services.SetFaults("inventory", remote.Faults{Rules: []remote.Rule{tc.fault}}); err != nil {
				t.Fatal(err)
			}
			cfg := httpagent.Config{Name: "inventory", URL: srv.URL + "/inventory/{task}"}
			if tc.fault.Hang {
				cfg.Timeout = 2 * time.Second // of the tries that must succeed, too
			}
			h, err := httpagent.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(h.Close)
			var out outbox
			a, err := agent.New(agent.Config{Name: "inventory", Work: h.Call, Replies: &out, Retry: task.Retry{First: time.Millisecond},
				Rejected: func(context.Context, []byte, string) error { return nil }})
			if err != nil {
				t.Fatal(err)
			}
			r := request()
			r.Undo, r.CompleteBy = tc.undo, task.At(time.Now().Add(time.Minute))
			body, err := queue.Encode(r)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // every message may come twice
				if err := a.Handle(t.Context(), queue.Delivery{Body: body}); err != nil {
					t.Fatal(err)
				}
			}
			for _, m := range out {
				reply, err := queue.DecodeToScheduler(m.Body)
				if err != nil || reply.Reply.Outcome != tc.want {
					t.Errorf("got %s, %v, want %s", m.Body, err, tc.want)
				}
			}
			effects, err := services.Effects("inventory")
			if err != nil || len(effects) != 1 {
				t.Fatalf("got %+v, %v, want one id", effects, err)
			}
			got := effects[0]
			want := remote.Effect{ID: "o-1", Calls: got.Calls, Applied: tc.applied, Created: tc.applied > 0, Undone: tc.undo, Digest: got.Digest}
			if diff := cmp.Diff(want, got); diff != "" || len(out) != 2 {
				t.Errorf("%d replies, effect (-want +got):\n%s", len(out), diff)
			}
		})
	}
}
