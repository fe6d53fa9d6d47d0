package storetest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/store"
	"triad/shared/task"
)

func notice(queue, id string) task.Notice {
	return task.Notice{ID: id, Queue: queue, Task: "order-1", Workflow: "order@1", Status: "Processed",
		Reason: `<"reason">`, At: created, Outputs: map[string]json.RawMessage{"reserve": json.RawMessage(`{"id":"<r>"}`)}}
}

func alert(id string) task.Alert {
	return task.Alert{ID: id, Task: "order-1", Workflow: "order@1", Step: "charge", Subject: "given up", Action: "resubmit", At: created}
}

var toldTests = map[string]func(*testing.T, Harness){
	"notices and alerts are kept exactly once": told(func(t *testing.T, h Harness) {
		first := store.Change{Task: order("order-1", "op-1"), Notices: []task.Notice{notice("a", "n-1"), notice("b", "n-2")},
			Alerts: []task.Alert{alert("a-1")}}
		second := store.Change{Task: next(first.Task, "op-2", nil), Notices: []task.Notice{notice("a", "n-1"), notice("a", "n-3")},
			Alerts: []task.Alert{alert("a-1"), alert("a-2")}}
		for range 2 {
			if err := h.Store.Create(t.Context(), first); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := h.Store.Commit(t.Context(), second); err != nil {
				t.Fatal(err)
			}
		}
		h = h.reopened(t)
		h.expectNotices(t, "a", notice("a", "n-1"), notice("a", "n-3"))
		h.expectNotices(t, "b", notice("b", "n-2"))
		h.expectNotices(t, "c")
		h.expectAlerts(t, alert("a-1"), alert("a-2"))
	}),

	"a change that is refused tells nothing": told(func(t *testing.T, h Harness) {
		v := h.create(t, order("order-1", "op-1"))
		refused := store.Change{Task: order("order-1", "op-2"), Notices: []task.Notice{notice("a", "n-1")}, Alerts: []task.Alert{alert("a-1")}}
		wantError(t, h.Store.Create(t.Context(), refused), store.ErrExists)
		refused.Task = next(v, "op-3", func(v *task.Task) { v.Version = 7 })
		wantError(t, h.Store.Commit(t.Context(), refused), store.ErrConflict)
		h.expectNotices(t, "a")
		h.expectAlerts(t)
	}),

	"notices come in order until they are acknowledged": told(func(t *testing.T, h Harness) {
		c := store.Change{Task: order("order-1", "op-1")}
		var want []task.Notice
		for i := range 10 {
			want = append(want, notice("a", fmt.Sprintf("n-%d", i)))
			c.Notices = append(c.Notices, want[i], notice("b", fmt.Sprintf("m-%d", i)))
		}
		if err := h.Store.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		h.expectNotices(t, "a", want...)
		kept, err := h.Ledger.Mail().Notices(t.Context(), "a", 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []store.KeptNotice{kept[3], kept[0], kept[3]} {
			if err := h.Ledger.Mail().Acknowledge(t.Context(), "a", n.Seq); err != nil {
				t.Errorf("Acknowledge(%d): %v", n.Seq, err)
			}
		}
		if err := h.Ledger.Mail().Acknowledge(t.Context(), "b", kept[1].Seq); err != nil {
			t.Errorf("Acknowledge in another queue: %v", err)
		}
		h = h.reopened(t)
		h.expectNotices(t, "a", append(want[1:3:3], want[4:]...)...)
	}),

	"a number is not given twice, also after a restart": told(func(t *testing.T, h Harness) {
		v := order("order-1", "op-1")
		var last int64
		for i := range 4 {
			c := store.Change{Task: v, Notices: []task.Notice{notice("a", fmt.Sprint("n-", i))}}
			write := h.Store.Commit
			if i == 0 {
				write = h.Store.Create
			}
			if err := write(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			kept, err := h.Ledger.Mail().Notices(t.Context(), "a", last, 10)
			if err != nil || len(kept) != 1 {
				t.Fatalf("Notices after %d: got %v and error %v, want the latest", last, kept, err)
			}
			last = kept[0].Seq
			if err := h.Ledger.Mail().Acknowledge(t.Context(), "a", last); err != nil {
				t.Fatal(err)
			}
			h, v = h.reopened(t), next(v, fmt.Sprint("op-", i+2), nil)
		}
	}),
}

// told is a test for stores that keep notices and alerts.
func told(test func(*testing.T, Harness)) func(*testing.T, Harness) {
	return func(t *testing.T, h Harness) {
		if !h.KeepsTold {
			t.Log("not tried: this store declares that it keeps neither notices nor alerts")
			return
		}
		test(t, h)
	}
}

// expectNotices reads a queue, three notices a page.
func (h Harness) expectNotices(t *testing.T, queue string, want ...task.Notice) {
	t.Helper()
	var got []task.Notice
	var after int64
	for range len(want) + 2 {
		page, err := h.Ledger.Mail().Notices(t.Context(), queue, after, 3)
		if err != nil {
			t.Fatalf("Notices(%s, %d): %v", queue, after, err)
		}
		for _, n := range page {
			if n.Seq <= after {
				t.Errorf("notice %s has number %d, want more than %d", n.ID, n.Seq, after)
			}
			after = n.Seq
			got = append(got, n.Notice)
		}
	}
	if diff := cmp.Diff(got, want, alike()); diff != "" {
		t.Errorf("notices of %s (-got +want):\n%s", queue, diff)
	}
}

func (h Harness) expectAlerts(t *testing.T, want ...task.Alert) {
	t.Helper()
	kept, err := h.Ledger.Mail().Alerts(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []task.Alert
	for _, a := range kept {
		got = append(got, a.Alert)
	}
	if diff := cmp.Diff(got, want, alike()); diff != "" {
		t.Errorf("alerts (-got +want):\n%s", diff)
	}
	if len(kept) > 1 {
		after, err := h.Ledger.Mail().Alerts(t.Context(), kept[0].Seq, 1)
		if diff := cmp.Diff(after, kept[1:2]); err != nil || diff != "" {
			t.Errorf("one alert after the first: error %v (-got +want):\n%s", err, diff)
		}
	}
}
