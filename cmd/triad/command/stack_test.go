package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/cmd/triad/command"
	"triad/shared/api"
	"triad/shared/cloud/cloudtest"
	"triad/shared/remote"
	"triad/shared/task"
)

// TestMain gives the SDK of AWS what it reads by itself: credentials, and nothing
// of whoever runs the tests.
func TestMain(m *testing.M) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "AWS_") {
			_ = os.Unsetenv(name)
		}
	}
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_NEW_RETRIES_2026": "true",
	} {
		_ = os.Setenv(name, value) // a valid name
	}
	os.Exit(m.Run())
}

// onStack runs command lines on a deployment on the stand-ins. While a command
// waits, the functions are invoked.
type onStack struct {
	*program
	cloud *cloudtest.Deployment
	url   string
	ran   int // command lines
}

func newOnStack(t *testing.T) *onStack {
	t.Helper()
	d := cloudtest.New(t)
	p := &program{t: t, env: map[string]string{"TRIAD_STACK": d.Name}, onPause: func() { d.Turn(t) }}
	return &onStack{program: p, cloud: d, url: d.URL}
}

// run runs a command line on the stack.
func (p *onStack) run(args ...string) result {
	p.ran++
	return p.program.run(append(args, "--endpoint-url", p.url)...)
}

// must runs one that has to succeed.
func (p *onStack) must(args ...string) string {
	p.t.Helper()
	r := p.run(args...)
	if r.code != 0 {
		p.t.Fatalf("triad %s: code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.errOut)
	}
	return r.out
}

// shown is a task as `show --json` prints it.
func (p *onStack) shown(id string) (t api.Task) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.must("show", id, "--json")), &t); err != nil {
		p.t.Fatal(err)
	}
	return t
}

func (p *onStack) fail(service, match string) {
	p.t.Helper()
	if err := p.cloud.Services.SetFaults(p.t.Context(), service, remote.Faults{Rules: []remote.Rule{{Match: match, Refuse: true}}}); err != nil {
		p.t.Fatal(err)
	}
}

// placed is a submission of the sample workflow.
func placed(id string) string {
	return fmt.Sprintf(`{"id":%q,"workflow":"order","responseQueue":"shop","order":{"customer":"Ada","items":[{"sku":"tea","quantity":1}],"total":10}}`, id)
}

func TestOrdersOfAStackAreSubmittedAndFollowedToTheirEnds(t *testing.T) {
	t.Parallel()
	p := newOnStack(t)
	p.fail("payment", "declined-*")
	file := p.file("orders.jsonl", placed("good-1")+"\n"+placed("declined-1")+"\n"+placed("good-1")+"\n"+`{"id":"bad-1","workflow":"none","order":{}}`)
	r := p.run("submit", file, "--wait", "--parallel", "1")
	p.wants(r, 1, []string{"accepted  good-1  order@1", "already accepted  good-1", "Processed  good-1", "Compensated  declined-1", "2 accepted, 1 already accepted, 1 refused"},
		[]string{"line 4: ", `"none"; there are drone-delivery, order`})
	p.wants(p.run("show", "good-1"), 0, []string{"Workflow", "order@1", "Processed", "reserve", "Notices to"}, nil)
	p.wants(p.run("show", "good-1", "--bodies"), 0, []string{`"customer": "Ada"`, "Output of reserve"}, nil)
	p.wants(p.run("show", "nobody-1"), 1, nil, []string{"there is no task nobody-1", "hint: see what is not finished with: triad --stack " + p.cloud.Name + " list --unfinished"})
	p.wants(p.run("watch", "good-1"), 0, []string{"Processed  good-1"}, nil)

	p.stdin = placed("late-1")
	p.must("submit", "-", "--json")
	r = p.run("watch", "late-1", "--json")
	if lines := strings.Count(r.out, "\n"); r.code != 0 || lines < 2 || !strings.Contains(r.out, `"state":"Processed"`) {
		t.Errorf("watch: code %d, %d lines:\n%s%s", r.code, lines, r.out, r.errOut)
	}
	if slices.ContainsFunc(p.pauses, func(d time.Duration) bool { return d != 2*time.Second }) {
		t.Errorf("it paused for %v, want 2s each", p.pauses)
	}
}

func TestAnOrderThatWasJustQueuedIsWaitedFor(t *testing.T) {
	t.Parallel()
	p := newOnStack(t)
	looks := 0
	p.onPause = func() {
		if looks++; looks == 3 {
			p.cloud.Send(t, "submissions", placed("queued-1"))
			p.cloud.Settle(t, "queued-1")
		}
	}
	p.wants(p.run("watch", "queued-1"), 0, []string{"Processed  queued-1"}, []string{"there is no task queued-1 yet; waiting for the queue, up to 30s"})
	p.wants(p.run("watch", "nobody-1"), 1, nil, []string{"there is no task nobody-1: nothing came out of the queue; was it refused? see: triad rejected"})
	p.wants(p.run("watch", "nobody-1", "--once"), 1, nil, []string{"there is no task nobody-1"})
	if len(p.pauses) != 0 {
		t.Errorf("looking once paused for %v", p.pauses)
	}
}

func TestListsOfAStackComeFromTheIndex(t *testing.T) {
	t.Parallel()
	p := newOnStack(t)
	p.fail("notification", "lost-*")
	p.stdin = placed("lost-1") + "\n" + placed("lost-2")
	p.must("submit", "-")
	p.cloud.Settle(t, "lost-1", "lost-2")
	p.stdin = placed("new-1")
	p.must("submit", "-")

	p.wants(p.run("list", "--unfinished"), 0, []string{"new-1", "Processing"}, nil)
	p.wants(p.run("list", "--state", "Error"), 0, []string{"lost-1", "lost-2"}, nil)
	var ids []string
	for line := range strings.Lines(p.must("list", "--state", "Error", "--all", "--limit", "1", "--json")) {
		var s api.Summary
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, string(s.ID))
	}
	slices.Sort(ids)
	if diff := cmp.Diff([]string{"lost-1", "lost-2"}, ids); diff != "" {
		t.Error(diff)
	}
	p.wants(p.run("watch", "--once", "--json"), 0, []string{`{"counts":{"Error":2,"Processing":1}}`}, nil)
	for _, args := range [][]string{{"list"}, {"list", "--state", "Processed"}, {"list", "--workflow", "order", "--json"}} {
		p.wants(p.run(args...), 1, nil, []string{"listing tasks", "hint: add --unfinished or --state Error"})
	}
	p.wants(p.run("alerts"), 1, nil, []string{"published to the topic arn:aws:sns", "triad list --state Error"})
	if r := p.run("show", "lost-1"); strings.Contains(r.out+r.errOut, "triad dev") {
		t.Errorf("it speaks of triad dev:\n%s%s", r.out, r.errOut)
	}
	for _, c := range p.cloud.Calls() {
		if c.By == "triad-cli" && strings.HasSuffix(c.Action, "Scan") {
			t.Errorf("%s on %s: a stack is never scanned", c.Action, c.On)
		}
	}
}

func TestOperatorsOfAStackAskForEveryVerb(t *testing.T) {
	t.Parallel()
	p := newOnStack(t)
	p.fail("notification", "lost-*")
	p.stdin = placed("lost-1") + "\n" + placed("lost-2") + "\n" + placed("new-1") + "\n" + placed("done-1")
	p.must("submit", "-")
	p.must("pause", "new-1")
	p.cloud.Settle(t, "lost-1", "lost-2", "done-1")
	if got := p.shown("new-1"); !got.Paused {
		t.Errorf("it is not paused: %+v", got)
	}
	p.wants(p.run("resume", "new-1"), 0, []string{"resume  new-1"}, nil)
	p.wants(p.run("cancel", "new-1", "--reason", "customer changed their mind"), 0, []string{"cancel  new-1"}, nil)
	p.wants(p.run("undo", "lost-1", "lost-2", "nobody-1", "--json"), 1, []string{`"id":"lost-1"`, `"id":"lost-2"`}, []string{"nobody-1: there is no task"})
	p.cloud.Settle(t, "new-1", "lost-1", "lost-2")
	p.cloud.Settle(t, "lost-1", "lost-2")
	ends := map[string]task.State{}
	for _, id := range []string{"new-1", "lost-1"} {
		ends[id] = p.shown(id).State
	}
	if diff := cmp.Diff(map[string]task.State{"new-1": task.Cancelled, "lost-1": task.Compensated}, ends); diff != "" {
		t.Error(diff)
	}
	p.wants(p.run("resubmit", "done-1"), 1, nil, []string{"triad: "})
	p.stdin = placed("lost-3")
	p.must("submit", "-")
	p.cloud.Settle(t, "lost-3")
	if err := p.cloud.Services.ClearFaults(t.Context(), "notification"); err != nil {
		t.Fatal(err)
	}
	p.wants(p.run("resubmit", "lost-3", "--reason", "it is back"), 0, []string{"resubmit  lost-3"}, nil)
	p.cloud.Settle(t, "lost-3")
	if got := p.shown("lost-3"); got.State != task.Processed {
		t.Errorf("lost-3 is %s, want Processed", got.State)
	}
	opened := 0
	for _, c := range p.cloud.Calls() {
		if c.Action == "cloudformation:DescribeStacks" {
			opened++
		}
	}
	if opened != p.ran {
		t.Errorf("the stack was opened %d times by %d commands", opened, p.ran)
	}
}

const approvalWorkflow = `workflow: approval
version: 1
completeWithin: 1h
steps:
  ask: {agent: inventory, completeWithin: 10s}
  decide: {signal: approved, completeWithin: 30m}
`

func TestDefinitionsAreGivenToAStack(t *testing.T) {
	t.Parallel()
	p := newOnStack(t)
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "approval.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.wants(p.run("workflow", "apply", dir), 1, nil, []string{"there are no workflows in it"})
	write(approvalWorkflow)
	p.wants(p.run("workflow", "apply", dir), 0, []string{"added  approval@1"}, nil)
	p.wants(p.run("workflow", "apply", dir, "--json"), 0, []string{`"added": [],`, `"approval@1"`}, nil)
	p.wants(p.run("workflow", "list"), 0, []string{"approval@1", "waits for signal approved", "order@1", "drone-delivery@1"}, nil)
	write(approvalWorkflow + "# changed\n")
	p.wants(p.run("workflow", "apply", dir), 1, nil, []string{"approval@1", "raise its version"})
	write(strings.Replace(approvalWorkflow, "agent: inventory", "agent: nobody", 1))
	p.wants(p.run("workflow", "apply", dir), 1, nil, []string{"approval.yaml:5:", "nobody", "inventory"})
	write(strings.Replace(approvalWorkflow, "version: 1", "version: 2", 1))
	p.wants(p.run("workflow", "apply", dir), 0, []string{"added  approval@2"}, nil)

	p.stdin = `{"id":"a-1","workflow":"approval","order":{"total":10}}`
	p.wants(p.run("submit", "-"), 0, []string{"approval@2"}, nil)
	p.wants(p.run("signal", "a-1", "approved", `{"by":"kim"}`), 0, []string{"signal  a-1"}, nil)
	p.cloud.Settle(t, "a-1")
	p.wants(p.run("show", "a-1", "--bodies"), 0, []string{"Processed", `"by": "kim"`}, nil)
}

func TestMessagesOfAStackAreReadAndMoved(t *testing.T) {
	t.Parallel()
	p := newOnStack(t)
	p.wants(p.run("rejected"), 0, nil, []string{"nothing is rejected"})
	p.cloud.Send(t, "submissions", "not JSON", placed("again-1")[1:])
	p.cloud.Pump(t, "submissions")
	var seqs []string
	for line := range strings.Lines(p.must("rejected", "--json")) {
		var r api.Rejected
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, fmt.Sprint(r.Seq))
	}
	if len(seqs) != 2 {
		t.Fatalf("%d are rejected, want 2", len(seqs))
	}
	p.wants(p.run("rejected", "resend", seqs[0]), 1, nil, []string{"resending message " + seqs[0]})
	p.wants(p.run("rejected", "resend", seqs[0], "--body", p.file("right.json", placed("again-1"))), 0, []string{"accepted  again-1"}, nil)
	p.wants(p.run("rejected", "resend", seqs[0]), 1, nil, []string{"there is no rejected message " + seqs[0]})
	p.wants(p.run("rejected", "dismiss", seqs[1]), 0, []string{"dismissed 1"}, nil)
	p.wants(p.run("rejected"), 0, nil, []string{"nothing is rejected"})

	p.cloud.Settle(t, "again-1")
	p.wants(p.run("notices", "shop", "--ack"), 0, []string{"again-1", "Received", "Processed"}, nil)
	p.wants(p.run("notices", "shop"), 0, nil, []string{"there is no notice in shop"})
	p.wants(p.run("notices", "elsewhere"), 1, nil, []string{`no response queue "elsewhere": there are shop`})
}

func TestDeadLettersOfAStackGoBack(t *testing.T) {
	t.Parallel()
	p := newOnStack(t)
	p.wants(p.run("redrive"), 0, nil, []string{"there are no dead letters"})
	for i := range 12 {
		p.cloud.Send(t, "submissions-dead", placed(fmt.Sprintf("dead-%d", i)))
	}
	p.cloud.Send(t, "agent-payment-dead", "{}")
	p.wants(p.run("redrive"), 0, []string{"submissions    12", "agent-payment  1"}, nil)
	p.wants(p.run("redrive", "--json"), 0, []string{`{"queue":"submissions","dead":12}`, `{"queue":"scheduler","dead":0}`}, nil)
	p.wants(p.run("redrive", "submissions", "shop"), 1, nil, []string{`no queue "shop" with dead letters: there are submissions, scheduler, ticks, agent-inventory`})
	p.wants(p.run("redrive", "submissions", "scheduler"), 0, []string{"submissions  12 moved back", "scheduler  0 moved back"}, nil)
	p.wants(p.run("redrive", "agent-payment", "--json"), 0, []string{`{"queue":"agent-payment","dead":0,"moved":1}`}, nil)
	p.wants(p.run("redrive"), 0, nil, []string{"there are no dead letters"})
	var ids []task.ID
	for i := range 12 {
		ids = append(ids, task.ID(fmt.Sprintf("dead-%d", i)))
	}
	p.cloud.Settle(t, ids...)
}

// TestRedriveEndsThoughLettersDieAgain: whatever is moved back is dead again at
// once.
func TestRedriveEndsThoughLettersDieAgain(t *testing.T) {
	t.Parallel()
	p := newOnStack(t)
	p.cloud.Send(t, "ticks-dead", "tick", "tick", "tick")
	through := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.Header.Get("X-Amz-Target") == "AmazonSQS.SendMessageBatch" {
			body = bytes.Replace(body, []byte(`-ticks"`), []byte(`-ticks-dead"`), 1)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		p.cloud.ServeHTTP(w, r)
	}))
	t.Cleanup(through.Close)
	p.url = through.URL
	r := p.run("redrive", "ticks")
	p.wants(r, 0, []string{"ticks  10 moved back"}, []string{"ticks has about 3 dead letters more", "repeat it"})
}

func TestWhereCommandsWork(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	p.env["TRIAD_STACK"] = "shop"
	p.wants(p.run("list", "--url", p.url, "--stack", "shop"), 2, nil, []string{"--url is for a server, --stack for a stack"})
	p.wants(p.run("list", "--url", p.url), 0, nil, []string{"there are no such tasks"})
	p.wants(p.run("version"), 0, []string{"triad "}, nil)
	p.wants(p.run("workflow", "check", p.file("good.yaml", approvalWorkflow)), 0, []string{"is right"}, nil)
	p.wants(p.run("bench", "--steps", "0"), 2, nil, []string{"--steps 1 to 64"})
	dev, stop := context.WithCancel(t.Context())
	stop()
	var out, errOut bytes.Buffer
	command.Run(dev, &command.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut, Lookup: func(name string) (string, bool) { v, found := p.env[name]; return v, found }},
		[]string{"dev", "--data", filepath.Join(t.TempDir(), "triad.db"), "--listen", "127.0.0.1:0"})
	if strings.Contains(errOut.String(), "AWS") {
		t.Errorf("triad dev looked for the stack: %s", errOut.String())
	}
	delete(p.env, "TRIAD_STACK")
	p.wants(p.run("redrive"), 2, nil, []string{"redrive is for a stack on AWS", "give --stack"})
	p.wants(p.run("workflow", "apply", t.TempDir()), 2, nil, []string{"workflow apply is for a stack on AWS"})
}

func TestTheDoctorExaminesAStack(t *testing.T) {
	t.Parallel()
	p := newOnStack(t)
	p.stdin = placed("good-1")
	p.must("submit", "-")
	p.wants(p.run("doctor"), 0, []string{"unindexed", "not checked"}, nil)
	for _, c := range p.cloud.Calls() {
		if strings.HasSuffix(c.Action, "Scan") {
			t.Errorf("%s scans, and nobody asked for --full", c.By)
		}
	}
	p.wants(p.run("doctor", "--full"), 0, []string{"unindexed", "ok"}, nil)
	p.cloud.Send(t, "submissions", "not JSON")
	p.cloud.Turn(t)
	p.wants(p.run("doctor"), 1, []string{"dead-letters", "rejected"}, nil)
}
