package outlet_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"triad/shared/store"
	"triad/shared/task"
)

// at is a time that no clock of a test shows.
var at = task.Millis(1_790_000_000_123)

// TestRejectedMessagesLieInTheQueueAsTheyCame, and come out as they went in.
func TestRejectedMessagesLieInTheQueueAsTheyCame(t *testing.T) {
	t.Parallel()
	binary := strings.Repeat("\x00\xff", 128<<10)
	cases := map[string]struct{ body, lies, encoding string }{
		"JSON":                    {`{"id": "o-1"}`, `{"id": "o-1"}`, ""},
		"not JSON":                {"order\tplease\r\n", "order\tplease\r\n", ""},
		"any character":           {"é🚚\ud7ff\ufffd\x7f\u0085", "é🚚\ud7ff\ufffd\x7f\u0085", ""},
		"white space":             {" ", " ", ""},
		"256 KiB":                 {strings.Repeat("x", 256<<10), strings.Repeat("x", 256<<10), ""},
		"nothing":                 {"", "(empty)", "empty"},
		"what nothing looks like": {"(empty)", "(empty)", ""},
		"NUL":                     {"a\x00", "YQA=", "base64"},
		"a noncharacter":          {"\uffff", "77+/", "base64"},
		"no UTF-8":                {"\xff", "/w==", "base64"},
		"256 KiB that are none":   {binary, base64.StdEncoding.EncodeToString([]byte(binary)), "base64"},
	}
	everywhere(t, func(t *testing.T, r *rig) {
		for _, c := range cases {
			if err := r.out.Reject(t.Context(), store.Rejected{Queue: "submissions", Body: []byte(c.body), Reason: "field id: is missing\nö", At: at}); err != nil {
				t.Fatal(err)
			}
			if r.cloud != nil {
				r.cloud.pass(1e6)
			}
		}
		got := map[string]int{}
		all, err := r.in.Rejections(t.Context(), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			got[string(one.Body)]++
			if one.Queue != "submissions" || one.Reason != "field id: is missing\nö" || one.At != at || one.Seq <= 0 {
				t.Errorf("got %d of queue %s because %q at %d", one.Seq, one.Queue, one.Reason, one.At)
			}
		}
		lies := map[string]int{}
		for _, l := range r.read(t, r.out.Rejected) {
			equal(t, "At", l.Attributes["At"], "2026-09-21T14:13:20.123Z")
			lies[l.Body+" "+l.Attributes["Encoding"]]++
		}
		for name, c := range cases {
			if got[c.body] != 1 || lies[c.lies+" "+c.encoding] != 1 {
				t.Errorf("%s: came out %d times, lies in the queue %d times, want once", name, got[c.body], lies[c.lies+" "+c.encoding])
			}
		}
	})
}

func TestReasonsAreCutAndMadeLegal(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, want string }{
		"none":                    {"", ""},
		"illegal":                 {"a\x00b\xffc\ufffed", "a\ufffdb\ufffdc\ufffdd"},
		"as long as is kept":      {strings.Repeat("x", 2000), strings.Repeat("x", 2000)},
		"too long":                {strings.Repeat("x", 2001), strings.Repeat("x", 1997) + "…"},
		"cut before a character":  {strings.Repeat("x", 1996) + "éé...", strings.Repeat("x", 1996) + "…"},
		"longer once it is legal": {strings.Repeat("\xff", 1000), strings.Repeat("\ufffd", 665) + "…"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := inMemory()
			if err := r.out.Reject(t.Context(), store.Rejected{Queue: "scheduler", Body: []byte("x"), Reason: c.reason}); err != nil {
				t.Fatal(err)
			}
			got := r.read(t, rejectedURL)[0].Attributes
			equal(t, "reason", got["Reason"], c.want)
			equal(t, "the present, where no time is given", got["At"], "2026-11-21T10:00:00.000Z")
		})
	}
}

func TestAMessageThatCanNotBeCapturedIsAnError(t *testing.T) {
	t.Parallel()
	const doing = "rejecting a message of queue submissions: "
	t.Run("too large", func(t *testing.T) {
		t.Parallel()
		r := inMemory()
		err := r.out.Reject(t.Context(), store.Rejected{Queue: "submissions", Body: []byte(strings.Repeat("x", 1<<20))})
		if !errors.Is(err, store.ErrTooLarge) || len(r.cloud.made("SendMessageBatch")) != 0 {
			t.Errorf("error is %v, want %v without a call", err, store.ErrTooLarge)
		}
	})
	t.Run("almost too large", func(t *testing.T) {
		t.Parallel()
		r := inMemory()
		body := strings.Repeat("x", 1<<20-3000)
		if err := r.out.Reject(t.Context(), store.Rejected{Queue: "submissions", Body: []byte(body), Reason: strings.Repeat("y", 9999)}); err != nil {
			t.Error(err)
		}
	})
	t.Run("throttled", func(t *testing.T) {
		t.Parallel()
		r := inMemory()
		r.cloud.refuse = only("", "RequestThrottled", false)
		equal(t, "error", text(r.out.Reject(t.Context(), store.Rejected{Queue: "submissions", Body: []byte("x")})),
			doing+"sending to queue rejected: throttled, try again later (RequestThrottled): no")
	})
	t.Run("a lost answer, which captures it twice", func(t *testing.T) {
		t.Parallel()
		r := inMemory()
		r.cloud.fault = func(string, string) (error, error) { return nil, errReset }
		message := store.Rejected{Queue: "submissions", Body: []byte("x")}
		equal(t, "error", text(r.out.Reject(t.Context(), message)), doing+"sending to queue rejected: no answer from SQS: "+errReset.Error())
		r.cloud.fault = nil
		if err := r.out.Reject(t.Context(), message); err != nil {
			t.Error(err)
		}
		equal(t, "captured", len(r.read(t, rejectedURL)), 2)
	})
}
