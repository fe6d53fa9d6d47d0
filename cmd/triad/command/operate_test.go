package command_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/api"
	"triad/shared/store"
)

// submitted is a program whose deployment has run these submissions as far as
// they go.
func submitted(t *testing.T, submissions ...string) *program {
	t.Helper()
	p := newProgram(t, nil)
	p.stdin = strings.Join(submissions, "\n")
	p.must("submit", "-", "--parallel", "1")
	p.d.Settle(t)
	return p
}

const approval = `{"id":"a-1","workflow":"approval","order":{"total":10}}`

func TestTaskIsShownAsTextAndAsJSON(t *testing.T) {
	t.Parallel()
	p := submitted(t, order("bad", `{"refuse":"charge"}`))
	out := p.must("show", "bad", "--bodies")
	p.wants(result{out: out}, 0, []string{"Task        bad", "State       Error", "Notices to  shop", "2026-01-31 12:00:00.000Z",
		"card  [31mexpired", "Order\n{\n  \"refuse\": \"charge\"\n}", "Output of reserve"}, nil)
	if strings.Contains(out, "\x1b") {
		t.Error("a control character of the server reaches the terminal")
	}
	var got api.Task
	if err := json.Unmarshal([]byte(p.must("show", "bad", "--json")), &got); err != nil || got.ID != "bad" || len(got.Steps) != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	p.wants(p.run("show", "nobody"), 1, nil, []string{"there is no task nobody", "hint: see what there is with: triad list"})
}

func TestColoursAreForTerminalsThatWantThem(t *testing.T) {
	t.Parallel()
	p := submitted(t, order("good", "{}"))
	const green = "\x1b[32mProcessed\x1b[0m"
	for _, c := range []struct {
		name     string
		terminal bool
		env      map[string]string
		want     bool
	}{
		{"a file", false, nil, false},
		{"a terminal", true, nil, true},
		{"a terminal without colours", true, map[string]string{"TERM": "dumb"}, false},
		{"a person who wants none", true, map[string]string{"NO_COLOR": "1"}, false},
		{"an empty NO_COLOR", true, map[string]string{"NO_COLOR": ""}, true},
	} {
		q := &program{t: t, d: p.d, term: c.terminal, env: map[string]string{"TRIAD_URL": p.url}}
		for name, v := range c.env {
			q.env[name] = v
		}
		if got := strings.Contains(q.must("list"), green); got != c.want {
			t.Errorf("%s: coloured %t, want %t", c.name, got, c.want)
		}
	}
}

func TestTasksAreListed(t *testing.T) {
	t.Parallel()
	p := submitted(t, order("good", "{}"), order("bad", `{"refuse":"charge"}`), approval)
	p.wants(p.run("list"), 0, []string{"ID    WORKFLOW", "good  order@1", "2/2", "a-1   approval@1"}, nil)
	out := p.must("list", "--state", "Error")
	if !strings.Contains(out, "bad") || strings.Contains(out, "good") {
		t.Errorf("in Error are:\n%s", out)
	}
	p.wants(p.run("list", "--limit", "1"), 0, nil, []string{"there are more: add --all, or --cursor"})
	if lines := strings.Count(p.must("list", "--limit", "1", "--all", "--json"), "\n"); lines != 3 {
		t.Errorf("all are %d lines, want 3", lines)
	}
	var page api.TaskPage
	if err := json.Unmarshal([]byte(p.must("list", "--limit", "2", "--json")), &page); err != nil || len(page.Tasks) != 2 || page.Next == "" {
		t.Errorf("got %+v, %v", page, err)
	}
	p.wants(p.run("list", "--tenant", "nobody"), 0, nil, []string{"there are no such tasks"})
	p.wants(p.run("list", "--state", "Done"), 1, nil, []string{"the states are"})
}

// halfDamaged is a store with one damaged record beside those that it has.
type halfDamaged struct{ api.Tasks }

func (h halfDamaged) List(ctx context.Context, q store.ListQuery) (store.ListPage, error) {
	page, err := h.Tasks.List(ctx, q)
	page.Damaged = []store.Damaged{{ID: "broken-1", Err: store.ErrDamaged}}
	return page, err
}

func TestADamagedRecordIsNamedBesideTheList(t *testing.T) {
	t.Parallel()
	p := newProgram(t, func(config *api.Config) { config.Store = halfDamaged{config.Store} })
	p.stdin = order("good", "{}")
	p.must("submit", "-")
	const note = "triad: the record of task broken-1 is damaged"
	p.wants(p.run("list"), 0, []string{"good  order@1"}, []string{note, "triad doctor"})
	p.wants(p.run("list", "--json"), 0, []string{`"damaged": [`, `"broken-1"`, `"id": "good"`}, []string{note})
	if r := p.run("list", "--tenant", "nobody"); strings.Contains(r.errOut, "no such tasks") {
		t.Errorf("of a list of which a task can't be read it says %s", r.errOut)
	}
}

func TestVerbsAreAskedOfEveryTask(t *testing.T) {
	t.Parallel()
	p := submitted(t, order("bad", `{"refuse":"charge"}`), approval, order("good", "{}"))
	p.wants(p.run("resubmit", "good", "nobody", "bad", "--reason", "card renewed"), 1,
		[]string{"resubmit  bad  Processing"}, []string{"good: resubmit of task good is refused", "nobody: there is no task nobody"})
	p.wants(p.run("pause", "a-1"), 0, []string{"pause  a-1  Processing (paused)"}, nil)
	p.wants(p.run("pause", "a-1", "--json"), 0, []string{`"paused": true`}, nil)
	p.wants(p.run("resume", "a-1"), 0, []string{"resume  a-1  Processing\n"}, nil)
	p.wants(p.run("signal", "a-1", "other"), 1, nil, []string{"refused"})
	p.stdin = `{"by":"kim"}`
	p.wants(p.run("signal", "a-1", "approved", "-"), 0, []string{"signal  a-1  Processed"}, nil)
	p.wants(p.run("cancel", "a-1"), 1, nil, []string{"cancel of task a-1 is refused"})
	p.d.Settle(t)
	p.wants(p.run("undo", "bad", "--reason", "enough", "--json"), 0, []string{`"goal": "Compensated"`, `"reason": "enough"`}, nil)
}

func TestTaskIsWatchedToItsEnd(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	p.stdin = order("good", "{}") + "\n" + order("bad", `{"refuse":"charge"}`)
	p.must("submit", "-", "--parallel", "1")
	r := p.run("watch", "good")
	p.wants(r, 0, []string{"good       Processing\n  reserve  Processing\n", "good       Processed\n  reserve  Processed\n  charge   Processed\n", "Processed  good  after 0s\n"}, nil)
	p.wants(p.run("watch", "bad"), 1, []string{"charge", "card  [31mexpired", "Error  bad"}, nil)
	p.wants(p.run("watch", "bad", "--json"), 1, []string{`"state":"Error"`}, nil)
	p.wants(p.run("watch", "nobody"), 1, nil, []string{"there is no task nobody"})
}

func TestCountsAreWatchedUntilInterrupted(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	p.stdin = order("good", "{}") + "\n" + order("bad", `{"refuse":"charge"}`)
	p.must("submit", "-")
	ctx, cancel := context.WithCancel(t.Context())
	p.onPause = func() {
		if p.d.Settle(t); len(p.pauses) == 3 {
			cancel()
		}
	}
	r := p.runIn(ctx, "watch")
	want := "Pending 0       Processing 2       Compensating 0       Error 0\n" +
		"Pending 0       Processing 0       Compensating 0       Error 1\n"
	if diff := cmp.Diff(want, r.out); diff != "" || r.code != 130 {
		t.Errorf("code %d, %s", r.code, diff)
	}
	p.wants(p.run("watch", "--once", "--json"), 0, []string{`{"counts":{"Error":1}}`}, nil)
}

func TestRejectedMessagesAreListedResentAndDismissed(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	p.wants(p.run("rejected"), 0, nil, []string{"nothing is rejected"})
	for _, body := range []string{`{"id":"order-1"`, "\xff\xff"} {
		p.enqueue(body)
	}
	p.wants(p.run("rejected"), 0, []string{"SEQ", `{"id":"order-1"`, "not JSON", "(2 bytes that are no text)"}, nil)
	var first api.Rejected
	out := p.must("rejected", "list", "--json")
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&first); err != nil {
		t.Fatal(err)
	}
	seq := strconv.FormatInt(first.Seq, 10)
	p.wants(p.run("rejected", "resend", seq), 1, nil, []string{"resending message " + seq, "not JSON"})
	p.wants(p.run("rejected", "resend", seq, "--body", p.file("broken.json", "{")), 1, nil, []string{"the correction is not JSON"})
	p.wants(p.run("rejected", "resend", seq, "--body", p.file("right.json", order("order-1", "{}"))), 0, []string{"accepted  order-1"}, nil)
	p.wants(p.run("rejected", "resend", seq), 1, nil, []string{"there is no rejected message " + seq})
	p.wants(p.run("rejected", "dismiss", seq), 0, []string{"dismissed 1"}, nil)
}

func TestNoticesAreReadAndAcknowledged(t *testing.T) {
	t.Parallel()
	p := submitted(t, order("good", "{}"))
	p.wants(p.run("notices", "shop"), 0, []string{"TASK", "Received", "Processed"}, nil)
	if lines := strings.Count(p.must("notices", "shop", "--ack", "--json"), "\n"); lines != 2 {
		t.Errorf("there are %d lines, want 2", lines)
	}
	p.wants(p.run("notices", "shop"), 0, nil, []string{"there is no notice in shop"})
}

func TestAlertsAreListed(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	p.wants(p.run("alerts"), 0, nil, []string{"there are no alerts"})
	p.stdin = order("bad", `{"refuse":"charge"}`)
	p.must("submit", "-")
	p.d.Settle(t)
	p.wants(p.run("alerts"), 0, []string{"bad", "charge", "triad resubmit bad"}, nil)
	p.wants(p.run("alerts", "--json"), 0, []string{`"step":"charge"`}, nil)
}
