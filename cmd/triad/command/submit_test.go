package command_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/api"
	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/submission"
	"triad/shared/task"
)

// order is a submission.
func order(id, content string) string {
	return fmt.Sprintf(`{"id":%q,"workflow":"order","order":%s,"responseQueue":"shop"}`, id, content)
}

func TestSubmissionsAreReadInEveryForm(t *testing.T) {
	t.Parallel()
	pretty := strings.ReplaceAll(order("a", "{}"), ",", ",\n  ")
	for _, c := range []struct {
		name, input string
		accepted    []string
		errors      []string
	}{
		{"an object", order("a", "{}"), []string{"a"}, nil},
		{"an object over several lines", "\ufeff\n" + pretty + "\n", []string{"a"}, nil},
		{"JSON lines", order("a", "{}") + "\n\n" + order("b", "{}") + "\r\n", []string{"a", "b"}, nil},
		{"objects over several lines", pretty + "\n" + strings.Replace(pretty, `"a"`, `"b"`, 1), []string{"a", "b"}, nil},
		{"an array", " [" + order("a", "{}") + ",\n" + pretty + "]\n", []string{"a", "a"}, nil},
		{"a broken line among others", order("a", "{}") + "\n{\"id\":\n" + order("b", "{}"), []string{"a", "b"}, []string{"line 2: the line is not JSON"}},
		{"a broken first line", "{\"id\":\n" + order("b", "{}"), []string{"b"}, []string{"line 1: the line is not JSON"}},
		{"a line that is too long", order("a", "{}") + "\n" + strings.Repeat("x", 600<<10) + "\n" + order("b", "{}"), []string{"a", "b"}, []string{"line 2: the line is too long"}},
		{"a refused line", order("a", "{}") + "\n" + order("b", "7") + "\n", []string{"a"}, []string{"line 2: field order: must be a JSON object"}},
		{"a refused element", "[" + order("a", "{}") + ",\n\n  " + order("b", "7") + "]", []string{"a"}, []string{"line 3: field order"}},
		{"an array that ends early", "[" + order("a", "{}") + ",\n" + order("b", "{}"), []string{"a", "b"}, []string{"line 2: not JSON from here on"}},
		{"something behind an array", "[" + order("a", "{}") + "]\n]", []string{"a"}, []string{"line 2: not JSON from here on"}},
		{"not JSON at all", "hello\nworld\n", nil, []string{"line 1: not JSON from here on"}},
		{"nesting of 10,001", strings.Repeat("[", 10_001), nil, []string{"line 1: not JSON from here on"}},
		{"nothing", " \n", nil, []string{"there is no submission in -"}},
		{"an empty array", "[]", nil, []string{"there is no submission in -"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, nil)
			p.stdin = c.input
			r := p.run("submit", "-", "--json")
			code := 0
			if c.errors != nil {
				code = 1
			}
			p.wants(r, code, nil, c.errors)
			var accepted []string
			for line := range strings.Lines(r.out) {
				if _, rest, found := strings.Cut(line, `"id":"`); found {
					id, _, _ := strings.Cut(rest, `"`)
					accepted = append(accepted, id)
				}
			}
			slices.Sort(accepted)
			if diff := cmp.Diff(c.accepted, accepted); diff != "" {
				t.Errorf("accepted: %s\n%s", diff, r.out)
			}
		})
	}
}

func TestSubmittingAgainIsToldAndNoFailure(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	path := p.file("order.json", order("order-1", "{}"))
	if diff := cmp.Diff("accepted  order-1  order@1  Processing\n", p.must("submit", path)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("already accepted  order-1  order@1  Processing\n", p.must("submit", path)); diff != "" {
		t.Error(diff)
	}
	other := p.file("other.json", order("order-1", `{"other":1}`))
	p.wants(p.run("submit", other), 1, nil, []string{"line 1: field id:", "submitted with other content"})
	p.wants(p.run("submit", other+".none"), 1, nil, []string{"opening the input"})
}

func TestManySubmissionsShowTheFirstTheProgressAndTheSum(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	var input strings.Builder
	for i := range 1500 {
		input.WriteString(order(fmt.Sprintf("order-%d", i), "{}") + "\n")
	}
	p.stdin = input.String()
	r := p.run("submit", "-")
	p.wants(r, 0, []string{"1500 accepted, 0 already accepted, 0 refused"}, []string{"1000 accepted, 0 refused so far"})
	if n := strings.Count(r.out, "\n"); n != 12 {
		t.Errorf("%d lines are printed, want 12:\n%s", n, r.out)
	}
}

func TestWaitingFollowsEveryTaskToItsEnd(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	p.stdin = order("good", "{}")
	p.wants(p.run("submit", "-", "--wait"), 0, []string{"Processed  good"}, nil)
	p.stdin = order("fine", "{}") + "\n" + order("bad", `{"refuse":"charge"}`)
	p.wants(p.run("submit", "-", "--wait"), 1, []string{"Processed  fine", "Error  bad", "card  [31mexpired"}, nil)
	p.wants(p.run("submit", "-", "--wait", "--json"), 1, []string{`"already":true`, `"state":"Error"`}, nil)
}

func TestWaitingEndsInTime(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	p.stdin = `{"id":"a-1","workflow":"approval","order":{}}`
	p.wants(p.run("submit", "-", "--wait", "--timeout", "1s"), 1, nil, []string{"a-1, have not ended within 1s", "triad watch a-1"})
	total := time.Duration(0)
	for _, d := range p.pauses {
		total += d
	}
	if total != time.Second {
		t.Errorf("waited %s, want 1s", total)
	}
}

func TestFullServerIsTriedAgainAfterTheTimeItNames(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	p := newProgram(t, func(c *api.Config) {
		c.Full = func() (time.Duration, bool) { return 7 * time.Second, asked.Add(1) <= 8 }
	})
	p.stdin = order("order-1", "{}")
	p.must("submit", "-", "--parallel", "1")
	if len(p.pauses) != 8 || p.pauses[0] != 7*time.Second {
		t.Errorf("the waits are %v", p.pauses)
	}
}

func TestServerThatDoesNotWorkEndsTheSubmitting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		err    error
		pauses int
		want   string
	}{
		{"for a while", store.ErrConflict, 4, "the outcome is not known"},
		{"until there is room", store.ErrFull, 0, "the store is full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, func(config *api.Config) { config.Submit = failing{c.err} })
			p.stdin = strings.Repeat(order("order-1", "{}")+"\n", 100)
			p.wants(p.run("submit", "-", "--parallel", "1"), 1, nil, []string{"submitting line 1: ", c.want})
			if len(p.pauses) != c.pauses {
				t.Errorf("the waits are %v", p.pauses)
			}
		})
	}
}

// failing is a Submission that fails.
type failing struct{ err error }

func (f failing) Submit(context.Context, task.Submission) (submission.Receipt, error) {
	return submission.Receipt{}, f.err
}

func (f failing) Handle(context.Context, queue.Delivery) error { return f.err }

func TestInterruptedSubmittingSaysNothing(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	p.stdin = order("order-1", "{}")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := p.runIn(ctx, "submit", "-"); r.code != 130 || r.errOut != "" {
		t.Errorf("got code %d, errors %q", r.code, r.errOut)
	}
}
