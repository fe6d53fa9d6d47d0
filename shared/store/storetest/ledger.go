package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"triad/shared/store"
)

var ledgerTests = map[string]func(*testing.T, Harness){
	"rejected messages are kept to the byte, in order": ledger(func(t *testing.T, h Harness) {
		want := []store.Rejected{
			{Queue: "submissions", Body: []byte("\x00\xff not JSON"), Reason: "unreadable", At: created},
			{Queue: "scheduler", Body: nil, Reason: "empty", At: created + 1},
			{Queue: "submissions", Body: body(100_000), Reason: "too large", At: created + 2},
		}
		for _, r := range want {
			if err := h.Ledger.Reject(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		h = h.reopened(t)
		got, err := h.Ledger.Rejections(t.Context(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, want, alike(), cmpopts.IgnoreFields(store.Rejected{}, "Seq")); diff != "" {
			t.Fatalf("Rejections (-got +want):\n%s", diff)
		}
		h.dismissAll(t, got)
	}),

	"a number is not given twice, also after a restart": ledger(func(t *testing.T, h Harness) {
		var last int64
		for range 3 {
			if err := h.Ledger.Reject(t.Context(), store.Rejected{Queue: "q", Body: []byte("x")}); err != nil {
				t.Fatal(err)
			}
			got, err := h.Ledger.Rejections(t.Context(), last, 10)
			if err != nil || len(got) != 1 {
				t.Fatalf("Rejections after %d: got %v and error %v, want the latest", last, got, err)
			}
			last = got[0].Seq
			if err := h.Ledger.Dismiss(t.Context(), last); err != nil {
				t.Fatal(err)
			}
			h = h.reopened(t)
		}
	}),
}

// ledger is a test for stores that have one.
func ledger(test func(*testing.T, Harness)) func(*testing.T, Harness) {
	return func(t *testing.T, h Harness) {
		if h.Ledger == nil {
			t.Log("not tried: this store declares no ledger")
			return
		}
		test(t, h)
	}
}

// reopened is the harness after a restart, or the same when it isn't durable.
func (h Harness) reopened(t *testing.T) Harness {
	t.Helper()
	if h.Reopen == nil {
		return h
	}
	return h.Reopen(t)
}

// dismissAll pages through three rejected messages and dismisses them.
func (h Harness) dismissAll(t *testing.T, all []store.Rejected) {
	t.Helper()
	page, err := h.Ledger.Rejections(t.Context(), all[0].Seq, 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page, all[1:2], alike()); diff != "" {
		t.Errorf("one after the first (-got +want):\n%s", diff)
	}
	for _, seq := range []int64{all[1].Seq, all[1].Seq, all[0].Seq} {
		if err := h.Ledger.Dismiss(t.Context(), seq); err != nil {
			t.Errorf("Dismiss(%d): %v", seq, err)
		}
	}
	left, err := h.Ledger.Rejections(t.Context(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(left, all[2:], alike()); diff != "" {
		t.Errorf("what is left (-got +want):\n%s", diff)
	}
}
