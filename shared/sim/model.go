package sim

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"triad/shared/store"
	"triad/shared/submission"
	"triad/shared/task"
)

// writer is who makes a write, and what its clock showed.
type writer struct {
	proc  string
	role  role
	now   task.Millis
	cause cause
	hand  *hand
}

// token names an attempt of a step of a task.
type token struct {
	task    task.ID
	step    string
	attempt int
}

// claim is an attempt, and the call during which it was claimed.
type claim struct {
	token
	at int
}

// model is the reference: what must be so, told only by what can be seen from
// outside. It has one account for each task.
type model struct {
	w        *world
	accounts map[task.ID]*account
	order    []*account
	// subs are all submissions that were made, by id; acked those accepted.
	subs  map[task.ID][]task.Submission
	acked map[task.ID]bool
	// captured are submissions that were captured as rejected, by id.
	captured map[task.ID][]task.Submission
	// litter is what nobody can read, by body, and where it was put.
	litter map[string]*line
	// told are the ids of notices and alerts that got through.
	told map[string]bool
	// replied are the replies that agents sent.
	replied map[string]bool
	// implied are the attempts that were claimed while a message was handled, by
	// the bytes of the message.
	implied map[string][]claim
	// calmMessages counts the messages sent in the second phase.
	calmMessages int
}

func newModel(w *world) *model {
	return &model{
		w: w, accounts: map[task.ID]*account{}, subs: map[task.ID][]task.Submission{}, acked: map[task.ID]bool{},
		litter: map[string]*line{}, told: map[string]bool{}, replied: map[string]bool{}, captured: map[task.ID][]task.Submission{},
		implied: map[string][]claim{},
	}
}

// committed is told of every write that was applied, at the moment it was.
func (m *model) committed(was task.Task, c store.Change) {
	by := m.w.writer
	m.w.tally.Commits++
	m.w.noteText(c.Task.Op)
	a := m.accounts[c.Task.ID]
	if a == nil {
		a = m.open(c.Task)
		if a == nil {
			return
		}
	}
	o := observation{was: was, is: c.Task, change: c, by: by}
	if m.w.options.Trace {
		m.w.trace("COMMIT by %s at %v: %s", by.proc, since(by.now), line1(c.Task))
	}
	if rule, detail := a.judge(&o); rule != "" {
		m.w.fail(rule, c.Task.ID, fmt.Sprintf("%s\nby %s (%d)\nbefore %s\nafter  %s", detail, by.proc, by.cause.kind, line1(was), line1(c.Task)))
	}
	if m.w.options.suspect != nil {
		m.w.options.suspect(m.w)
	}
	if c.Task.State == task.Error && was.State != task.Error && m.w.plan.rates[VerbResubmit] > 0 && !m.w.calm && m.w.rng.IntN(4) == 0 {
		m.w.impatient(c.Task.ID)
	}
	if m.w.plan.keepTold {
		for _, n := range c.Notices {
			m.told[n.ID] = true
		}
		for _, x := range c.Alerts {
			m.told[x.ID] = true
		}
	}
}

// open begins the account of a task that was created: it must be one of those
// that were submitted, byte for byte.
func (m *model) open(t task.Task) *account {
	var sub *task.Submission
	for i := range m.subs[t.ID] {
		s := &m.subs[t.ID][i]
		if isOf(&t, s) {
			sub = s
		}
	}
	if sub == nil {
		m.w.fail("S15 payload", t.ID, "the task that was created is none that was submitted")
		return nil
	}
	for _, s := range m.w.shapes {
		if name, version, _ := task.SplitRef(sub.Workflow); s.flow.Ref() == t.Workflow && s.flow.Name == name && (version == 0 || s.flow.Version == version) {
			a := newAccount(m, t.ID, *sub, s.flow)
			m.accounts[t.ID] = a
			m.order = append(m.order, a)
			return a
		}
	}
	m.w.fail("S2 workflow", t.ID, fmt.Sprintf("submitted for %s, created for %s", sub.Workflow, t.Workflow))
	return nil
}

// isOf reports that a task has the content of a submission. It compares what they
// say, and not the hash that the engine goes by.
func isOf(t *task.Task, s *task.Submission) bool {
	return alike(&task.Submission{Order: t.Order, Tenant: t.Tenant, ResponseQueue: t.ResponseQueue}, s)
}

// alike reports that two submissions of one id have the same content.
func alike(a, b *task.Submission) bool {
	return bytes.Equal(a.Order, b.Order) && a.Tenant == b.Tenant && a.ResponseQueue == b.ResponseQueue
}

func (m *model) stepNames(id task.ID) (names []string) {
	if a := m.accounts[id]; a != nil {
		for _, s := range a.flow.Steps {
			names = append(names, s.Name)
		}
	}
	return names
}

// trySubmission: a client is about to submit this.
func (m *model) trySubmission(s task.Submission) {
	if !slices.ContainsFunc(m.subs[s.ID], func(o task.Submission) bool { return alike(&o, &s) }) {
		m.subs[s.ID] = append(m.subs[s.ID], s)
	}
}

// acknowledged: the caller was told that its submission is accepted. Then the task
// is in the table, with just this content (S1, S2).
func (m *model) acknowledged(s task.Submission, id task.ID) {
	m.acked[s.ID] = true
	r := m.w.table.rows[s.ID]
	if r == nil || id != s.ID {
		m.w.fail("S1 acknowledged", s.ID, "it was acknowledged and is not in the table")
		return
	}
	if !isOf(&r.task, &s) {
		m.w.fail("S2 content", s.ID, "it was acknowledged, and the table has other content")
	}
}

// accepted reports whether the table holds a submission.
func (m *model) accepted(s task.Submission) bool {
	r := m.w.table.rows[s.ID]
	return r != nil && isOf(&r.task, &s)
}

// refused: a submission is refused only if another content holds its id, or if it
// is not valid; never if it had been accepted before.
func (m *model) refused(h *hand, s task.Submission, err error) {
	r := m.w.table.rows[s.ID]
	if h.accepted {
		m.w.fail("S2 refused", s.ID, "a submission that had been accepted was refused: "+err.Error())
	}
	taken := r != nil && !isOf(&r.task, &s)
	unknown := errors.Is(err, submission.ErrInvalid) && h.behind // it can't know the definition yet
	if !taken && !unknown {
		m.w.fail("S2 refused", s.ID, "a good submission was refused: "+err.Error())
	}
}

// line1 is a task on one line.
func line1(t task.Task) string {
	if t.Version == 0 {
		return "(none)"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s v%d %s", t.ID, t.Version, t.State)
	if t.Goal != "" {
		fmt.Fprintf(&b, " goal %s", t.Goal)
	}
	fmt.Fprintf(&b, " by %v deadline %v", since(t.CompleteBy), since(t.Deadline))
	for _, f := range []struct {
		set  bool
		name string
	}{{t.Owing, " owing"}, {t.Paused, " paused"}} {
		if f.set {
			b.WriteString(f.name)
		}
	}
	for _, s := range t.Steps {
		fmt.Fprintf(&b, " | %s %s", s.Name, s.State)
		if s.Attempt > 0 {
			fmt.Fprintf(&b, " #%d", s.Attempt)
		}
		if s.LockedBy != "" {
			fmt.Fprintf(&b, " %s", s.LockedBy)
		}
		if s.CompleteBy > 0 {
			fmt.Fprintf(&b, " by %v", since(s.CompleteBy))
		}
		if s.FailureCount > 0 {
			fmt.Fprintf(&b, " f%d", s.FailureCount)
		}
		if s.Doubt {
			b.WriteString(" doubt")
		}
	}
	return b.String()
}

func since(m task.Millis) time.Duration {
	if m == 0 {
		return 0
	}
	return time.Duration(m-noon) * time.Millisecond
}
