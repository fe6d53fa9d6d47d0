package payment_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/agent"
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

// worker is a whole agent around a payment service.
func worker(t *testing.T, service http.Handler) (*agent.Agent, *outbox) {
	t.Helper()
	out := &outbox{}
	a, err := agent.New(agent.Config{Name: "payment", Work: serve(t, service, time.Minute).Call, Replies: out,
		Retry:    task.Retry{First: time.Millisecond},
		Rejected: func(context.Context, []byte, string) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return a, out
}

func handle(t *testing.T, a *agent.Agent, r task.Request) {
	t.Helper()
	body, err := queue.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Handle(t.Context(), queue.Delivery{Body: body, Receives: 1}); err != nil {
		t.Fatal(err)
	}
}

// The whole chain, from request messages, each of which comes twice, to the
// effect at the service.
func TestACustomerIsChargedOnce(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault remote.Rule
		undo  []bool // of each request
		want  task.Outcome
		made  remote.Effect
	}{
		"no fault":                      {remote.Rule{LatencyMs: 1}, []bool{false}, task.Succeeded, remote.Effect{Applied: 1, Created: true}},
		"answers lost, connection cut":  {remote.Rule{Down: true, ApplyFirst: true, Times: 2}, []bool{false}, task.Succeeded, remote.Effect{Applied: 1, Created: true}},
		"answers lost, 503":             {remote.Rule{Status: 503, ApplyFirst: true, Times: 1}, []bool{false}, task.Succeeded, remote.Effect{Applied: 1, Created: true}},
		"refused":                       {remote.Rule{Refuse: true}, []bool{false}, task.FailedPermanently, remote.Effect{}},
		"down":                          {remote.Rule{Down: true}, []bool{false}, task.FailedTransiently, remote.Effect{}},
		"taken back":                    {remote.Rule{LatencyMs: 1}, []bool{false, true}, task.Succeeded, remote.Effect{Applied: 1, Created: true, Undone: true}},
		"taken back at the third try":   {remote.Rule{Method: "DELETE", Status: 500, Times: 2}, []bool{false, true}, task.Succeeded, remote.Effect{Applied: 1, Created: true, Undone: true}},
		"never charged, and taken back": {remote.Rule{LatencyMs: 1}, []bool{true}, task.Succeeded, remote.Effect{Undone: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			services := remote.New(remote.Config{})
			if err := services.SetFaults("payment", remote.Faults{Rules: []remote.Rule{tc.fault}}); err != nil {
				t.Fatal(err)
			}
			a, out := worker(t, services)
			for _, undo := range tc.undo {
				r := request()
				r.Undo = undo
				handle(t, a, r)
				handle(t, a, r)
			}
			if want := 2 * len(tc.undo); len(*out) != want {
				t.Errorf("%d replies, want %d", len(*out), want)
			}
			for _, m := range *out {
				reply, err := queue.DecodeToScheduler(m.Body)
				if err != nil || reply.Reply.Outcome != tc.want {
					t.Errorf("got %s, %v, want %s", m.Body, err, tc.want)
				}
			}
			effects, err := services.Effects("payment")
			if err != nil || len(effects) != 1 {
				t.Fatalf("got %+v, %v, want one id", effects, err)
			}
			tc.made.ID, tc.made.Calls, tc.made.Digest = "o-1", effects[0].Calls, effects[0].Digest
			if diff := cmp.Diff(tc.made, effects[0]); diff != "" {
				t.Errorf("effect (-want +got):\n%s", diff)
			}
		})
	}
}

// The customer has been charged, so an undo has to cover the step.
func TestAChargeWithAnAnswerThatCannotBeReadIsInDoubt(t *testing.T) {
	t.Parallel()
	a, out := worker(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	handle(t, a, request())
	reply, err := queue.DecodeToScheduler((*out)[0].Body)
	if err != nil || reply.Reply.Outcome != task.FailedPermanently || !reply.Reply.Doubt {
		t.Errorf("got %s, %v; want a permanent failure in doubt", (*out)[0].Body, err)
	}
}
