package command_test

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/cmd/triad/command"
	"triad/shared/api"
	"triad/shared/api/apitest"
	"triad/shared/api/client"
)

// program runs command lines against a deployment. While a command waits, the
// deployment settles.
type program struct {
	t     *testing.T
	d     *apitest.Deployment
	url   string
	stdin string
	env   map[string]string
	term  bool
	// pauses are the waits of the last command; each calls onPause.
	pauses  []time.Duration
	onPause func()
}

func newProgram(t *testing.T, adjust func(*api.Config)) *program {
	t.Helper()
	d := apitest.New(t, adjust)
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	p := &program{t: t, d: d, url: server.URL, env: map[string]string{"TRIAD_URL": server.URL}}
	p.onPause = func() { d.Settle(t) }
	return p
}

// result is what a command line did.
type result struct {
	code        int
	out, errOut string
}

func (p *program) run(args ...string) result {
	return p.runIn(p.t.Context(), args...)
}

func (p *program) runIn(ctx context.Context, args ...string) result {
	var out, errOut bytes.Buffer
	p.pauses = nil
	code := command.Run(ctx, &command.Env{
		Stdin: strings.NewReader(p.stdin), Stdout: &out, Stderr: &errOut, Terminal: p.term,
		Lookup: func(name string) (string, bool) { v, found := p.env[name]; return v, found },
		Pause: func(ctx context.Context, d time.Duration) error {
			p.pauses = append(p.pauses, d)
			p.onPause()
			return ctx.Err()
		},
	}, args)
	return result{code, out.String(), errOut.String()}
}

// must runs a command line that has to succeed.
func (p *program) must(args ...string) string {
	p.t.Helper()
	r := p.run(args...)
	if r.code != 0 {
		p.t.Fatalf("triad %s: code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.errOut)
	}
	return r.out
}

// wants checks a result; every text must be in its output.
func (p *program) wants(r result, code int, out []string, errOut []string) {
	p.t.Helper()
	if r.code != code {
		p.t.Errorf("code %d, want %d", r.code, code)
	}
	for _, text := range out {
		if !strings.Contains(r.out, text) {
			p.t.Errorf("%q is not in the output:\n%s", text, r.out)
		}
	}
	for _, text := range errOut {
		if !strings.Contains(r.errOut, text) {
			p.t.Errorf("%q is not in the errors:\n%s", text, r.errOut)
		}
	}
}

// enqueue puts a message on the submissions queue.
func (p *program) enqueue(body string) {
	p.t.Helper()
	c, err := client.New(client.Config{URL: p.url})
	if err == nil {
		err = c.Enqueue(p.t.Context(), []byte(body))
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// file makes a file and returns its path.
func (p *program) file(name, content string) string {
	p.t.Helper()
	path := filepath.Join(p.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func TestHelpListsEveryCommandInGroups(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	for _, args := range [][]string{{"--help"}, nil} {
		r := p.run(args...)
		p.wants(r, 0, []string{"Tasks:", "Operate:", "Define:", "submit", "show", "list", "watch", "resubmit", "cancel", "undo",
			"pause", "resume", "signal", "workflow check", "workflow list", "rejected resend", "notices", "alerts", "version", p.url}, nil)
	}
	for _, name := range []string{"submit", "show", "list", "watch", "resubmit", "cancel", "undo", "pause", "resume",
		"signal", "workflow", "rejected", "notices", "alerts"} {
		p.wants(p.run(name, "--help"), 0, []string{"Example", "triad " + name}, nil)
	}
}

func TestWrongCommandLinesExitWith2AndAHint(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"lst"}, "unexpected argument lst"},
		{[]string{"list", "--nope"}, "see triad list --help"},
		{[]string{"list", "--limit", "0"}, "--limit is 0"},
		{[]string{"list", "--limit", "x"}, "expected a valid"},
		{[]string{"show"}, "expected \"<id>\""},
		{[]string{"show", "../x"}, "id has the character"},
		{[]string{"watch", "order-1", "--every", "0s"}, "--every is 0s"},
		{[]string{"submit", "-", "--parallel", "0"}, "--parallel is 0"},
		{[]string{"cancel"}, "expected \"<id> ...\""},
		{[]string{"cancel", "order-1", "a b"}, "id has the character"},
		{[]string{"signal", "order-1", "approved", "yes"}, "payload is not JSON"},
		{[]string{"notices", "a b"}, "name of the queue"},
		{[]string{"notices", "shop", "--wait", "1h"}, "--wait is 1h"},
		{[]string{"rejected", "dismiss", "x"}, "triad rejected dismiss --help"},
		{[]string{"list", "--url", "localhost"}, "is no address of a server"},
	} {
		p.wants(p.run(c.args...), 2, nil, []string{"triad: ", c.want, "hint: "})
	}
}

func TestServerThatIsNotThereIsToldWithWhatToDo(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	gone := httptest.NewServer(p.d)
	gone.Close()
	p.stdin = order("order-1", "{}")
	for _, args := range [][]string{{"list"}, {"show", "order-1"}, {"submit", "-"}, {"cancel", "a", "b"}, {"watch"}} {
		r := p.run(append(args, "--url", gone.URL)...)
		p.wants(r, 1, nil, []string{"is `triad dev` running? start it, or give --url"})
		if n := strings.Count(r.errOut, "triad dev"); n != 1 {
			t.Errorf("%v: it is told %d times:\n%s", args, n, r.errOut)
		}
	}
}

func TestVersionIsPrinted(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	p.wants(p.run("version"), 0, []string{"triad ", "go1."}, nil)
	p.wants(p.run("version", "--json"), 0, []string{`"go": "go1.`}, nil)
}

func TestDefinitionsAreChecked(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	good := p.file("good.yaml", "workflow: order\nversion: 1\ncompleteWithin: 24h\nsteps:\n  reserve:\n    agent: inventory\n")
	bad := p.file("bad.yaml", "workflow: order\nversion: 0\nsteps:\n  reserve:\n    agnt: inventory\n")
	p.wants(p.run("workflow", "check", good), 0, []string{"order@1 is right, with 1 steps"}, nil)
	p.wants(p.run("workflow", "check", good, "--agent", "payment"), 1, []string{good + ":6:", "inventory"}, nil)
	p.wants(p.run("workflow", "check", bad, good), 1, []string{bad + ":2:", bad + ":5:", "is right"}, nil)
	p.wants(p.run("workflow", "check", bad, "--json"), 1, []string{`"problems":[{`, `"line":2`}, nil)
	p.wants(p.run("workflow", "check", filepath.Join(t.TempDir(), "none.yaml")), 1, nil, []string{"reading definition"})
	outside := p.file("outside.yaml", "workflow: order\nversion: 1\ncompleteWithin: 24h\ninput: ../secret.json\nsteps:\n  reserve:\n    agent: inventory\n")
	p.wants(p.run("workflow", "check", outside), 1, []string{"../secret.json"}, nil)
}

func TestDefinitionsOnOfferAreListed(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	want := `WORKFLOW    STEP     DOES                       AFTER    UNDO
order@1     reserve  agent inventory                     yes
            charge   agent payment              reserve
approval@1  ask      agent inventory
            decide   waits for signal approved  ask
`
	if diff := cmp.Diff(want, p.must("workflow", "list")); diff != "" {
		t.Error(diff)
	}
}
