package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/agent"
	"triad/shared/queue"
	"triad/shared/task"
)

var errBroken = errors.New("service is down")

// outbox keeps what an agent sends, or refuses it.
type outbox struct {
	sent []queue.Message
	err  error
}

func (o *outbox) Send(_ context.Context, msgs ...queue.Message) error {
	if o.err != nil {
		return o.err
	}
	o.sent = append(o.sent, msgs...)
	return nil
}

// replies decodes the replies sent, in order.
func (o *outbox) replies(t *testing.T) []task.Reply {
	t.Helper()
	var all []task.Reply
	for _, m := range o.sent {
		got, err := queue.DecodeToScheduler(m.Body)
		if err != nil {
			t.Fatalf("message %s: %v", m.Body, err)
		}
		if got.Reply != nil {
			all = append(all, *got.Reply)
		}
	}
	return all
}

// desk is an agent with everything around it in memory.
type desk struct {
	*agent.Agent
	out       outbox
	rejected  []string
	rejectErr error
}

func newDesk(t *testing.T, work agent.Func) *desk {
	t.Helper()
	d := &desk{}
	a, err := agent.New(agent.Config{Name: "inventory", Work: work, Replies: &d.out,
		Rejected: func(_ context.Context, body []byte, reason string) error {
			if d.rejectErr == nil {
				d.rejected = append(d.rejected, string(body)+": "+reason)
			}
			return d.rejectErr
		}})
	if err != nil {
		t.Fatal(err)
	}
	d.Agent = a
	return d
}

// request is one with 10 s left.
func request() task.Request {
	return task.Request{Task: "o-1", Workflow: "order@1", Step: "reserve", Agent: "inventory", Attempt: 2,
		LockedBy: "s-1", CompleteBy: task.At(time.Now().Add(10 * time.Second)), Key: "o-1/reserve", Tenant: "acme"}
}

func delivery(t *testing.T, r task.Request) queue.Delivery {
	t.Helper()
	body, err := queue.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return queue.Delivery{Body: body, Receives: 1, Receipt: "r"}
}

// script is work that returns one error after the other, then succeeds.
func script(errs ...error) agent.Func {
	return func(context.Context, task.Request) (json.RawMessage, error) {
		if len(errs) == 0 {
			return json.RawMessage(`{"ok":true}`), nil
		}
		err := errs[0]
		errs = errs[1:]
		return nil, err
	}
}

func TestHowAnAttemptIsAnswered(t *testing.T) {
	t.Parallel()
	answer := func(out string) agent.Func {
		return func(context.Context, task.Request) (json.RawMessage, error) { return json.RawMessage(out), nil }
	}
	long := `"` + strings.Repeat("x", task.MaxOutput) + `"`
	tests := map[string]struct {
		work agent.Func
		want task.Reply
	}{
		"success":                              {script(), task.Reply{Outcome: task.Succeeded, Output: json.RawMessage(`{"ok":true}`)}},
		"success without an output":            {answer(""), task.Reply{Outcome: task.Succeeded}},
		"JSON null is no output":               {answer("null"), task.Reply{Outcome: task.Succeeded}},
		"output is compacted":                  {answer("{\n \"a\": 1\n}"), task.Reply{Outcome: task.Succeeded, Output: json.RawMessage(`{"a":1}`)}},
		"noncharacters in output are escaped":  {answer("\"\uffff\""), task.Reply{Outcome: task.Succeeded, Output: json.RawMessage(`"\uffff"`)}},
		"success after two transient failures": {script(errBroken, errBroken), task.Reply{Outcome: task.Succeeded, Output: json.RawMessage(`{"ok":true}`)}},
		"three transient failures":             {script(errBroken, errBroken, errBroken), task.Reply{Outcome: task.FailedTransiently, Error: "service is down"}},
		"refusal for good is not retried": {script(agent.Permanent(errors.New("no such item"))),
			task.Reply{Outcome: task.FailedPermanently, Error: "no such item"}},
		"wrapped refusal": {script(fmt.Errorf("reserving: %w", agent.Permanent(errors.New("no such item")))),
			task.Reply{Outcome: task.FailedPermanently, Error: "reserving: no such item"}},
		"last failure names a wait": {script(errBroken, errBroken, agent.RetryAfter(errBroken, 1500*time.Microsecond)),
			task.Reply{Outcome: task.FailedTransiently, Error: "service is down", RetryAfterMs: 2}},
		"wait beyond the deadline": {script(agent.RetryAfter(errBroken, time.Minute)),
			task.Reply{Outcome: task.FailedTransiently, Error: "service is down", RetryAfterMs: 60_000}},
		"a call that was not made is not waited for": {script(agent.NotNow(errBroken, time.Second)),
			task.Reply{Outcome: task.FailedTransiently, Error: "service is down", RetryAfterMs: 1000}},
		"wait inside the deadline": {script(agent.RetryAfter(errBroken, 5*time.Second)),
			task.Reply{Outcome: task.Succeeded, Output: json.RawMessage(`{"ok":true}`)}},
		"panics": {func(context.Context, task.Request) (json.RawMessage, error) { panic("index out of range") },
			task.Reply{Outcome: task.FailedTransiently, Error: "panic: index out of range"}},
		"refusal after a call without an answer": {script(errBroken, agent.Permanent(errors.New("no such item"))),
			task.Reply{Outcome: task.FailedPermanently, Error: "no such item", Doubt: true}},
		"success with an answer of no use": {script(agent.Unusable(errors.New("too long"))),
			task.Reply{Outcome: task.FailedPermanently, Error: "too long", Doubt: true}},
		"output that is not JSON": {answer("<html>"), task.Reply{Outcome: task.FailedPermanently, Doubt: true,
			Error: "output of 6 bytes is not valid JSON: invalid character '<' looking for beginning of value"}},
		"output that is not UTF-8": {answer("\"\xff\""), task.Reply{Outcome: task.FailedPermanently, Doubt: true,
			Error: "output of 3 bytes is not valid UTF-8: the agent must return JSON"}},
		"output too large": {answer(long), task.Reply{Outcome: task.FailedPermanently, Doubt: true,
			Error: "output has 65538 bytes: at most 65536 are allowed: return a reference instead"}},
		"error text is cut between characters": {script(agent.Permanent(errors.New(strings.Repeat("é", 100) + "x"))),
			task.Reply{Outcome: task.FailedPermanently, Error: strings.Repeat("é", 80)}},
		"error text is made printable": {script(agent.Permanent(errors.New("a\nb\x00\xffc\uffff"))),
			task.Reply{Outcome: task.FailedPermanently, Error: "a b \ufffdc\ufffd"}},
		"empty error text": {script(agent.Permanent(errors.New(""))),
			task.Reply{Outcome: task.FailedPermanently, Error: "no reason was given"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, tc.work)
				if err := d.Handle(t.Context(), delivery(t, request())); err != nil {
					t.Fatal(err)
				}
				want := tc.want
				want.Task, want.Step, want.Attempt, want.LockedBy = "o-1", "reserve", 2, "s-1"
				if diff := cmp.Diff([]task.Reply{want}, d.out.replies(t)); diff != "" {
					t.Errorf("replies (-want +got):\n%s", diff)
				}
				if d.out.sent[0].Group != "acme" {
					t.Errorf("got group %q, want the tenant", d.out.sent[0].Group)
				}
			})
		})
	}
}

func TestUnreadableMessagesAreCaptured(t *testing.T) {
	t.Parallel()
	body := func(change func(*task.Request)) string {
		r := request()
		change(&r)
		return string(delivery(t, r).Body)
	}
	tests := map[string]struct{ body, want string }{
		"not JSON":       {"hello", "reading JSON"},
		"unknown field":  {`{"task":"o-1","colour":"red"}`, `unknown field "colour"`},
		"no token":       {`{"task":"o-1"}`, "must have the fields"},
		"no key":         {body(func(r *task.Request) { r.Key = "" }), "has no key"},
		"another agent":  {body(func(r *task.Request) { r.Agent = "payment" }), `for agent "payment"`},
		"binary garbage": {"\xff\x00", "reading JSON"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, script())
			if err := d.Handle(t.Context(), queue.Delivery{Body: []byte(tc.body)}); err != nil {
				t.Fatalf("got error %v, want the message to be dealt with", err)
			}
			if len(d.rejected) != 1 || !strings.HasPrefix(d.rejected[0], tc.body+": ") || !strings.Contains(d.rejected[0], tc.want) {
				t.Errorf("got rejected %q, want the bytes and a reason with %q", d.rejected, tc.want)
			}
			if s := d.Counters().Stats(); s.Calls != 0 || s.Rejected != 1 {
				t.Errorf("got %+v, want no call and one rejected", s)
			}
		})
	}
}

func TestMessageComesAgainWhenItCannotBeCaptured(t *testing.T) {
	t.Parallel()
	d := newDesk(t, script())
	d.rejectErr = errors.New("disk full")
	if err := d.Handle(t.Context(), queue.Delivery{Body: []byte("hello")}); !errors.Is(err, d.rejectErr) {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestMessageComesAgainWhenTheReplyCannotBeSent(t *testing.T) {
	t.Parallel()
	d := newDesk(t, script())
	d.out.err = queue.ErrFull
	if err := d.Handle(t.Context(), delivery(t, request())); !errors.Is(err, queue.ErrFull) {
		t.Errorf("got %v, want queue.ErrFull", err)
	}
	if s := d.Counters().Stats(); s.Succeeded != 0 {
		t.Errorf("got %+v, want no reply counted", s)
	}
}

func TestConfigNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	full := agent.Config{Name: "a", Work: script(), Replies: &outbox{},
		Rejected: func(context.Context, []byte, string) error { return nil }}
	for field, empty := range map[string]func(*agent.Config){
		"Name":     func(c *agent.Config) { c.Name = "" },
		"Work":     func(c *agent.Config) { c.Work = nil },
		"Replies":  func(c *agent.Config) { c.Replies = nil },
		"Rejected": func(c *agent.Config) { c.Rejected = nil },
	} {
		c := full
		empty(&c)
		if _, err := agent.New(c); err == nil || !strings.Contains(err.Error(), "has no "+field) {
			t.Errorf("without %s: got %v", field, err)
		}
	}
}

func TestMarksOfErrors(t *testing.T) {
	t.Parallel()
	if agent.Permanent(nil) != nil || agent.RetryAfter(nil, time.Second) != nil {
		t.Error("a nil error became an error")
	}
	err := fmt.Errorf("calling: %w", agent.RetryAfter(errBroken, time.Second))
	if got := agent.Wait(err); got != time.Second || !errors.Is(err, errBroken) || agent.IsPermanent(err) {
		t.Errorf("got wait %v of %v, want 1s and a transient error", got, err)
	}
	if got := agent.Wait(agent.RetryAfter(errBroken, -time.Second)); got != 0 {
		t.Errorf("got wait %v, want none", got)
	}
	if agent.Wait(errBroken) != 0 || !agent.IsPermanent(fmt.Errorf("x: %w", agent.Permanent(errBroken))) {
		t.Error("a mark was read wrongly")
	}
}
