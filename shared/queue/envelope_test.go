package queue_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/queue"
	"triad/shared/task"
)

func TestWhatIsEncodedForTheSchedulerIsDecoded(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		message queue.ToScheduler
		body    string
	}{
		"wake-up": {
			queue.ToScheduler{Wake: &queue.Wake{Task: "o-1"}},
			`{"wake":{"task":"o-1"}}`,
		},
		"wake-up that redelivers": {
			queue.ToScheduler{Wake: &queue.Wake{Task: "o-1", Redeliver: true}},
			`{"wake":{"task":"o-1","redeliver":true}}`,
		},
		"reply": {
			queue.ToScheduler{Reply: &task.Reply{Task: "o-1", Step: "charge", Attempt: 2, LockedBy: "i-7",
				Outcome: task.Succeeded, Output: json.RawMessage(`{"id":"ü🚚"}`)}},
			`{"reply":{"task":"o-1","step":"charge","attempt":2,"lockedBy":"i-7","outcome":"succeeded","output":{"id":"ü🚚"}}}`,
		},
		"reply to an undo that failed": {
			queue.ToScheduler{Reply: &task.Reply{Task: "o-1", Step: "charge", Undo: true, Attempt: 3, LockedBy: "i-7",
				Outcome: task.FailedTransiently, Error: "503", RetryAfterMs: 1500}},
			`{"reply":{"task":"o-1","step":"charge","undo":true,"attempt":3,"lockedBy":"i-7","outcome":"failed transiently","error":"503","retryAfterMs":1500}}`,
		},
		"heartbeat": {
			queue.ToScheduler{Extend: &task.Extension{Task: "o-1", Step: "ship", Attempt: 1, LockedBy: "i-7", CompleteBy: 1700000000000}},
			`{"extend":{"task":"o-1","step":"ship","attempt":1,"lockedBy":"i-7","completeBy":1700000000000}}`,
		},
	}
	for name, c := range cases {
		body, err := queue.Encode(c.message)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.body, string(body)); diff != "" {
			t.Errorf("%s: body (-want +got):\n%s", name, diff)
		}
		got, err := queue.DecodeToScheduler(body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.message, got); diff != "" {
			t.Errorf("%s: message (-want +got):\n%s", name, diff)
		}
		if got.Task() != "o-1" {
			t.Errorf("%s: task is %q, want o-1", name, got.Task())
		}
	}
}

func TestUnreadableSchedulerMessagesNameTheFault(t *testing.T) {
	t.Parallel()
	cases := []struct{ body, names string }{
		{``, "EOF"},
		{`nonsense`, "invalid character"},
		{`{"wake":`, "unexpected EOF"},
		{`[]`, "cannot unmarshal array"},
		{`null`, "it has 0"},
		{`{}`, "exactly one of the fields wake, reply, extend: it has 0"},
		{`{"wake":null}`, "it has 0"},
		{`{"wake":{"task":"o-1"},"reply":{"task":"o-1"}}`, "it has 2"},
		{`{"wake":{"task":"o-1"},"reply":{},"extend":{}}`, "it has 3"},
		{`{"wake":{"task":"o-1"},"sleep":1}`, `"sleep"`},
		{`{"wake":{"task":"o-1","step":"x"}}`, `"step"`},
		{`{"wake":{"task":"o-1"}} {}`, "at byte"},
		{`{"wake":{"task":"o-1"}}x`, "at byte"},
		{`{"wake":{}}`, "field task: id is empty"},
		{`{"reply":{"step":"charge"}}`, "field task"},
		{`{"extend":{"task":"../etc"}}`, "field task"},
		{`{"wake":{"task":"` + strings.Repeat("x", task.MaxID+1) + `"}}`, "field task"},
		{`{"wake":{"task":7}}`, "wake.task"},
		{`{"reply":{"task":"o-1","attempt":1.5}}`, "reply.attempt"},
		{`{"reply":{"task":"o-1","attempt":99999999999999999999}}`, "reply.attempt"},
	}
	for _, c := range cases {
		_, err := queue.DecodeToScheduler([]byte(c.body))
		if err == nil || !strings.Contains(err.Error(), c.names) {
			t.Errorf("%s: error is %v, want it to say %q", c.body, err, c.names)
		}
	}
}

func TestWhatIsEncodedForAnAgentIsDecoded(t *testing.T) {
	t.Parallel()
	want := task.Request{
		Task: "o-1", Workflow: "order@1", Step: "charge", Agent: "payment", Undo: true, Attempt: 2, LockedBy: "i-7",
		CompleteBy: 1700000000000, Key: "o-1/charge", Input: json.RawMessage(`{"amount":1e2}`),
		Output: json.RawMessage(`"ch_1"`), Tenant: "acme",
	}
	body, err := queue.Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := queue.DecodeRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestUnreadableRequestsNameTheFault(t *testing.T) {
	t.Parallel()
	cases := []struct{ body, names string }{
		{`{}`, "field task"},
		{`{"task":"o-1"}`, "step, attempt, lockedBy and completeBy"},
		{`{"task":"o-1","step":"s","attempt":0,"lockedBy":"i","completeBy":1}`, "attempt"},
		{`{"task":"o-1","step":"s","attempt":1,"lockedBy":"","completeBy":1}`, "lockedBy"},
		{`{"task":"o-1","step":"s","attempt":1,"lockedBy":"i","completeBy":-1}`, "completeBy"},
		{`{"task":"o-1","step":"","attempt":1,"lockedBy":"i","completeBy":1}`, "step"},
		{`{"task":"o-1","step":"s","attempt":1,"lockedBy":"i","completeBy":1,"more":0}`, `"more"`},
		{`{"task":"o-1","step":"s","attempt":1,"lockedBy":"i","completeBy":1}]`, "at byte"},
		{`{"wake":{"task":"o-1"}}`, `"wake"`},
	}
	for _, c := range cases {
		_, err := queue.DecodeRequest([]byte(c.body))
		if err == nil || !strings.Contains(err.Error(), c.names) {
			t.Errorf("%s: error is %v, want it to say %q", c.body, err, c.names)
		}
	}
}

func TestPartialErrorIsItsCauses(t *testing.T) {
	t.Parallel()
	err := error(&queue.PartialError{Failed: map[int]error{3: queue.ErrFull, 5: queue.ErrTooLarge}})
	for _, want := range []error{queue.ErrFull, queue.ErrTooLarge} {
		if !errors.Is(err, want) {
			t.Errorf("%v is not %v", err, want)
		}
	}
	if errors.Is(err, queue.ErrClosed) {
		t.Errorf("%v is %v", err, queue.ErrClosed)
	}
}

// FuzzDecodeToScheduler checks that no body makes the decoder panic, and that
// whatever it accepts is one message about a valid task, which survives being
// encoded and decoded again.
func FuzzDecodeToScheduler(f *testing.F) {
	for _, body := range []string{
		`{"wake":{"task":"o-1","redeliver":true}}`,
		`{"reply":{"task":"o-1","step":"s","attempt":1,"lockedBy":"i","outcome":"succeeded","output":{"a":[1,"<é>"]}}}`,
		`{"extend":{"task":"o-1","step":"s","attempt":1,"lockedBy":"i","completeBy":1}}`,
		`{"WAKE":{"Task":"o-1"}}`, `{"wake":null,"reply":null}`, `null`, `{}{}`, "\xff", strings.Repeat(`{"wake":`, 100),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := queue.DecodeToScheduler(body)
		if err != nil {
			return
		}
		if err := task.ValidateID(m.Task()); err != nil {
			t.Errorf("accepted a message whose %v", err)
		}
		set := 0
		for _, is := range []bool{m.Wake != nil, m.Reply != nil, m.Extend != nil} {
			if is {
				set++
			}
		}
		if set != 1 {
			t.Errorf("accepted a message with %d fields set", set)
		}
		survives(t, m, queue.DecodeToScheduler)
	})
}

// FuzzDecodeRequest does the same for requests.
func FuzzDecodeRequest(f *testing.F) {
	for _, body := range []string{
		`{"task":"o-1","workflow":"order@1","step":"s","agent":"a","attempt":1,"lockedBy":"i","completeBy":1,"key":"o-1/s","input":{"a":1.0}}`,
		`{"task":"o-1","step":"s","attempt":1,"lockedBy":"i","completeBy":9223372036854775807,"input":null,"output":[]}`,
		`{"task":"o-1"}`, `[]`, `null`, "\x00",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := queue.DecodeRequest(body)
		if err != nil {
			return
		}
		if err := task.ValidateID(r.Task); err != nil {
			t.Errorf("accepted a request whose %v", err)
		}
		if r.Step == "" || r.Attempt < 1 || r.LockedBy == "" || r.CompleteBy <= 0 {
			t.Errorf("accepted a request without its token: %+v", r)
		}
		survives(t, r, queue.DecodeRequest)
	})
}

// survives checks that encoding what was decoded, twice, gives the same bytes.
func survives[M any](t *testing.T, m M, decode func([]byte) (M, error)) {
	t.Helper()
	first, err := queue.Encode(m)
	if err != nil {
		t.Fatalf("encoding what was decoded: %v", err)
	}
	again, err := decode(first)
	if err != nil {
		t.Fatalf("decoding %s: %v", first, err)
	}
	second, err := queue.Encode(again)
	if err != nil {
		t.Fatalf("encoding again: %v", err)
	}
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Errorf("encoded twice (-first +second):\n%s", diff)
	}
}
