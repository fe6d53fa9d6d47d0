package storetest

import (
	"strings"
	"testing"

	"triad/shared/store"
	"triad/shared/task"
)

var contentTests = map[string]func(*testing.T, Harness){
	"no such task": func(t *testing.T, h Harness) {
		for _, id := range []task.ID{"order-1", "", "/definitions", "é", "order\x00", task.ID(strings.Repeat("z", 3_000))} {
			_, err := h.Store.Load(t.Context(), id)
			wantError(t, err, store.ErrNotFound)
		}
	},

	"load sees every commit at once": func(t *testing.T, h Harness) {
		v := h.create(t, order("order-1", "op-1"))
		for range 20 {
			h.expect(t, v)
			v = h.commit(t, next(v, "op-next", func(t *task.Task) { t.FailureCount++ }))
		}
		h.expect(t, v)
	},

	"load with a cancelled context reports that": func(t *testing.T, h Harness) {
		h.create(t, order("order-1", "op-1"))
		_, err := h.Store.Load(cancelled(t), "order-1")
		wantError(t, err, cancelled(t).Err())
	},

	"orders are kept to the byte": func(t *testing.T, h Harness) {
		for i, content := range []string{
			`{"a" :  1.0,` + "\n\t" + `"a":"<\u00e9>&😀\u0000"}`, `null`, `[]`, `"é"`, `1e400`, ` {} `,
			strings.Repeat("[", 500) + strings.Repeat("]", 500),
		} {
			v := order(ids("order", i+1)[i], "op-1")
			v.Order = []byte(content)
			h.create(t, v)
			h.expect(t, v)
			h.expect(t, h.commit(t, next(v, "op-2", nil)))
		}
	},

	"large outputs are kept over later commits": func(t *testing.T, h Harness) {
		v := h.create(t, order("order-1", "op-1"))
		v = h.output(t, v, "reserve", string(body(task.InlineOutput+1)))
		v = h.output(t, v, "charge", string(body(task.MaxOutput)))
		v = h.output(t, v, "ship", string(body(task.InlineOutput)))
		for range 3 {
			v = h.commit(t, next(v, "op-next", nil))
		}
		if h.Reopen != nil {
			h = h.Reopen(t)
		}
		h.expect(t, v)
		h.expect(t, h.commit(t, next(v, "op-last", finished(task.Processed))))
	},

	"an output can be replaced by a larger, a smaller and none": func(t *testing.T, h Harness) {
		v := h.create(t, order("order-1", "op-1"))
		for _, output := range []string{`1`, string(body(1_000)), string(body(2_000)), `2`, string(body(3_000)), ``, string(body(4_000))} {
			v = h.output(t, v, "reserve", output)
			h.expect(t, v)
		}
		if h.Reopen != nil {
			h = h.Reopen(t)
		}
		h.expect(t, v)
	},

	"a conflict leaves large outputs alone": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		second := h.output(t, first, "reserve", string(body(1_000)))
		stale := next(first, "op-stale", func(v *task.Task) { v.Steps[0].Output = body(2_000) })
		err := h.Store.Commit(t.Context(), store.Change{Task: stale, Outputs: outputs(stale)})
		wantError(t, err, store.ErrConflict)
		h.expect(t, second)
	},

	"ids that look like something else are told apart": func(t *testing.T, h Harness) {
		list := []task.ID{"a", "A", "a.", "a:", "a-", "a_", "a.b", "aa", "0", "00", "1e3", "1000", "null", "NaN", "0x1",
			"a:order", "a:output:reserve", task.ID(strings.Repeat("z", task.MaxID)), task.ID(strings.Repeat("z", task.MaxID-1))}
		for i, id := range list {
			v := order(id, "op-1")
			v.FailureCount = i + 1
			h.create(t, v)
		}
		for i, id := range list {
			want := order(id, "op-1")
			want.FailureCount = i + 1
			h.expect(t, want)
		}
	},

	"texts are kept whatever they look like": func(t *testing.T, h Harness) {
		for i, text := range []string{`'; DROP TABLE tasks; --`, "\"\\\n\t\r\u0001", "😀\u2028é", "%s ${x} {{.}}", " ", "<&>", "null"} {
			v := order(ids("order", i+1)[i], "op "+text)
			v.Tenant, v.ResponseQueue, v.Reason, v.LockedBy = text, text, text, text
			v.Steps[1].Name, v.Steps[1].Error, v.Steps[1].LockedBy = text, text, text
			h.expect(t, h.create(t, v))
			h.expect(t, h.commit(t, next(v, "op-2", nil), task.Lock{Step: text, LockedBy: text}))
		}
	},

	"what is not UTF-8 in an error becomes so": func(t *testing.T, h Harness) {
		v := order("order-1", "op-1")
		v.Reason, v.Steps[0].Error = "bad \xff", "cut \xf0\x9f"
		h.create(t, v)
		v.Reason, v.Steps[0].Error = "bad \uFFFD", "cut \uFFFD"
		h.expect(t, v)
		if h.Reopen != nil {
			h = h.Reopen(t)
		}
		h.expect(t, v)
	},

	"changing what was handed over or returned changes nothing stored": func(t *testing.T, h Harness) {
		v := h.create(t, order("order-1", "op-1"))
		loaded, err := h.Store.Load(t.Context(), "order-1")
		if err != nil {
			t.Fatal(err)
		}
		changed := loaded.Clone()
		changed.Steps[0].State, changed.Reason = task.Error, "changed"
		h.expect(t, v)
	},
}

// output commits the step's output; empty is none.
func (h Harness) output(t *testing.T, v task.Task, step, output string) task.Task {
	t.Helper()
	c := store.Change{Task: next(v, "output of "+step, nil)}
	for i := range c.Task.Steps {
		if c.Task.Steps[i].Name != step {
			continue
		}
		c.Task.Steps[i].Output = nil
		if output != "" {
			c.Task.Steps[i].Output = []byte(output)
			c.Outputs = []task.Output{{Step: step, Body: []byte(output)}}
		}
	}
	if err := h.Store.Commit(t.Context(), c); err != nil {
		t.Fatalf("Commit(%s, version %d): %v", v.ID, c.Task.Version, err)
	}
	return c.Task
}
