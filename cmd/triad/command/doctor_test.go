package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/api"
	"triad/shared/queue"
	"triad/shared/store"
)

func TestDoctorOfASoundDeployment(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	p.stdin = `{"id":"o-1","workflow":"order","order":{}}`
	if got := p.run("submit", "-"); got.code != 0 {
		t.Fatal(got)
	}
	got := p.run("doctor", "--full")
	want := `CHECK         STATUS       FOUND  LOOKED AT     WHY
overdue       ok                  1 shards
held          ok                  24 shards
index         ok                  1 index rows
unindexed     ok                  1 tasks
definitions   ok                  2 tasks
agents        ok                  2 tasks
records       ok                  2 tasks
sizes         not checked                       this store does not tell how large a record is
dead-letters  ok                  0 queues
integrity     not checked                       the store's files are not ours to check
`
	if diff := cmp.Diff(result{out: want}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDoctorFailsWhenSomethingIsWrong also has text of others in a finding that
// would drive the terminal.
func TestDoctorFailsWhenSomethingIsWrong(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil)
	for _, q := range []string{queue.Submissions, "agent-\x1b[2Jevil"} {
		if err := p.d.Store.Reject(t.Context(), store.Rejected{Queue: q, Body: []byte("?"), Reason: "no JSON"}); err != nil {
			t.Fatal(err)
		}
	}
	got := p.run("doctor")
	want := `
dead-letters: triad rejected shows them with the reason; resend or dismiss each
   agent- [2Jevil  messages waiting: 1
   submissions     messages waiting: 1
`
	if got.code != 1 || !strings.HasSuffix(got.out, want) || got.errOut != "" || strings.Contains(got.out, "\x1b") {
		t.Errorf("exit code %d, printed\n%s%s\nwant it to end with\n%s", got.code, got.out, got.errOut, want)
	}
	asJSON := p.run("doctor", "--json")
	var report api.Examination
	if err := json.Unmarshal([]byte(asJSON.out), &report); err != nil {
		t.Fatal(err)
	}
	if asJSON.code != 1 || report.Healthy || len(report.Checks) != 10 {
		t.Errorf("exit code %d, %+v", asJSON.code, report)
	}
}

func TestDoctorOfAServerThatHasNone(t *testing.T) {
	t.Parallel()
	p := newProgram(t, func(c *api.Config) { c.Doctor = nil })
	if got := p.run("doctor"); got.code != 1 || !strings.Contains(got.errOut, "this server has no doctor") || strings.Contains(got.errOut, "hint") {
		t.Errorf("got %+v", got)
	}
}
