package outlet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"triad/shared/outlet"
	"triad/shared/task"
)

var errReset = errors.New("connection reset by peer")

func TestNoticesGoToTheirQueuesAndStraysAreCaptured(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, r *rig) {
		full := told("shop", "o-1")
		full.Reason, full.Outputs = "a < b\x00\ufffe", map[string]json.RawMessage{"ship": json.RawMessage("\"\uffff\"")}
		if err := r.out.Notify(t.Context(), []task.Notice{full, told("depot", "o-2"), told("cellar", "o-3"), told("shop", "o-4")}); err != nil {
			t.Fatal(err)
		}
		attributes := func(id string) map[string]string { return map[string]string{"TaskID": id, "Status": "Processed"} }
		equal(t, "shop", sorted(r.read(t, r.out.Responses["shop"])), []letter{
			{`{"id":"o-1/Processed/0","task":"o-1","workflow":"order@1","status":"Processed","reason":"a < b\u0000\ufffe","at":7,"outputs":{"ship":"\uffff"}}`, attributes("o-1")},
			{`{"id":"o-4/Processed/0","task":"o-4","workflow":"order@1","status":"Processed","at":7}`, attributes("o-4")},
		})
		equal(t, "depot", len(r.read(t, r.out.Responses["depot"])), 1)
		strays := r.read(t, r.out.Rejected)
		if len(strays) != 1 {
			t.Fatalf("captured %v, want the one of the cellar", strays)
		}
		delete(strays[0].Attributes, "At")
		equal(t, "captured", strays[0], letter{
			`{"id":"o-3/Processed/0","task":"o-3","workflow":"order@1","status":"Processed","at":7}`,
			map[string]string{"Queue": "cellar", "Reason": `this notice can't be delivered: this deployment has no response queue "cellar": there are depot, shop`},
		})
	})
}

func TestNoticesAreSentByTens(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, r *rig) {
		var notices []task.Notice
		for n := range 25 {
			notices = append(notices, told("shop", fmt.Sprint("o-", n)))
		}
		if err := r.out.Notify(t.Context(), notices); err != nil {
			t.Fatal(err)
		}
		equal(t, "sent", len(r.read(t, r.out.Responses["shop"])), 25)
		if r.cloud != nil {
			equal(t, "calls", r.cloud.made("SendMessageBatch"), []string{"10", "10", "5"})
		}
	})
}

// only refuses the entries with a text in their bodies, or leaves them out of the
// answer.
func only(part, code string, silent bool) func(body string) (string, bool) {
	return func(body string) (string, bool) {
		if strings.Contains(body, part) {
			return code, silent
		}
		return "", false
	}
}

// TestWhatBecomesOfNoticesThatAreRefused: those that can never be delivered are
// captured, the others told by the error; none stands in the way of another.
func TestWhatBecomesOfNoticesThatAreRefused(t *testing.T) {
	t.Parallel()
	const telling = "telling notice o-2/Processed/0: sending to queue shop: "
	refuse := func(code string, silent bool) func(*rig) {
		return func(r *rig) { r.cloud.refuse = only(`"o-2"`, code, silent) }
	}
	fault := func(op string, before, after error) func(*rig) {
		return func(r *rig) {
			r.cloud.fault = func(o, url string) (error, error) {
				if o == op && url == shopURL {
					return before, after
				}
				return nil, nil
			}
		}
	}
	all := func(cause string) string {
		return "telling notice o-1/Processed/0: " + cause + "\ntelling notice o-2/Processed/0: " + cause
	}
	cases := map[string]struct {
		arrange  func(*rig)
		err      string
		shop     int    // how many are there
		captured string // the reason of each, after what all have in common
	}{
		"throttled":     {refuse("RequestThrottled", false), telling + "throttled, try again later (RequestThrottled): no", 1, ""},
		"left out":      {refuse("", true), telling + "the answer leaves it out", 1, ""},
		"lost request":  {fault("SendMessageBatch", errReset, nil), all("sending to queue shop: no answer from SQS: " + errReset.Error()), 0, ""},
		"lost answer":   {fault("SendMessageBatch", nil, errReset), all("sending to queue shop: no answer from SQS: " + errReset.Error()), 2, ""},
		"access denied": {fault("SendMessageBatch", fail("AccessDenied", "no policy"), nil), all("sending to queue shop: access denied: the role needs sqs:SendMessage on it, and the use of its key when it has one: no policy"), 0, ""},
		"queue is gone": {func(r *rig) { delete(r.cloud.queues, shopURL) }, "", 0, "sending to queue shop: there is no queue at " + shopURL + ": check the URL and its region"},
		"too small":     {func(r *rig) { r.cloud.most[shopURL] = 10 }, "", 0, "sending to queue shop: SQS refused its size: One or more parameters are invalid. Reason: Message must be shorter than 10 bytes."},
		"no rejected":   {func(r *rig) { delete(r.cloud.queues, shopURL); delete(r.cloud.queues, rejectedURL) }, all("rejecting a message of queue shop: sending to queue rejected: there is no queue at " + rejectedURL + ": check the URL and its region"), 0, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := inMemory()
			c.arrange(r)
			equal(t, "error", text(r.out.Notify(t.Context(), []task.Notice{told("depot", "o-3"), told("shop", "o-1"), told("shop", "o-2")})), c.err)
			equal(t, "in the shop", len(r.read(t, shopURL)), c.shop)
			equal(t, "in the depot", len(r.read(t, depotURL)), 1)
			captured := r.read(t, rejectedURL)
			if n := len(captured); (c.captured == "") != (n == 0) {
				t.Errorf("%d are captured", n)
			}
			for _, l := range captured {
				equal(t, "reason", l.Attributes["Reason"], "this notice can't be delivered: "+c.captured)
			}
		})
	}
}

func TestAContextThatHasEndedIsTold(t *testing.T) {
	t.Parallel()
	r := inMemory()
	ctx, cancel := context.WithCancel(t.Context())
	r.cloud.fault = func(string, string) (error, error) {
		cancel()
		return errReset, nil
	}
	for what, err := range map[string]error{
		"notice": r.out.Notify(ctx, []task.Notice{told("shop", "o-1")}),
		"alert":  r.out.Alert(ctx, []task.Alert{{ID: "a"}}),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error is %v, want %v", what, err, context.Canceled)
		}
	}
}

func TestWithoutResponseQueuesEveryNoticeIsCaptured(t *testing.T) {
	t.Parallel()
	r := inMemory()
	o := outlet.New(outlet.Config{Queues: r.cloud, Rejected: rejectedURL})
	if err := o.Notify(t.Context(), []task.Notice{told("shop", "o-1")}); err != nil {
		t.Fatal(err)
	}
	equal(t, "captured", len(r.read(t, rejectedURL)), 1)
}
