package workflow

import (
	"strconv"
	"time"

	"triad/shared/task"
)

// What holds where a definition says nothing.
const (
	defaultCompleteWithin = 30 * time.Second
	defaultAttempts       = 4
	defaultUndoAttempts   = 10
	defaultFirst          = time.Second
	defaultFactor         = 2
	defaultMax            = time.Minute
)

// Bounds of a retry.
const (
	maxAttempts = 100
	maxFactor   = 100
	maxWaits    = 10_000
	maxVersion  = 1_000_000_000
)

var (
	workflowFields = []string{"workflow", "version", "completeWithin", "onExhausted", "priority", "input", "steps"}
	stepFields     = []string{"after", "when", "agent", "wait", "signal", "completeWithin", "retry",
		"undo", "input", "onExhausted", "extendedWait"}
	retryFields = []string{"attempts", "first", "factor", "max"}
	undoFields  = []string{"completeWithin", "retry"}
	waitFields  = []string{"for", "times", "then"}
)

// draft is a definition as it is written, with defaults filled in and places
// kept, before its steps are put in order.
type draft struct {
	flow task.Workflow // all but the Steps
	// schema is the path of the input schema, nil for none.
	schema *node
	steps  []*draftStep
}

// draftStep is one step as it is written.
type draftStep struct {
	task.Step
	fields fields
	// after names the steps before this one; implied is true when the
	// definition leaves it to the order in which the steps are written.
	after   []reference
	implied bool
}

// reference is a name used in the text.
type reference struct {
	name string
	at   position
}

// readWorkflow reads the whole definition.
func (r *report) readWorkflow(root *node) draft {
	f := r.fieldsOf(root, root.at, "workflow", "write the fields workflow, version, completeWithin and steps", workflowFields)
	if root.kind != mappingNode {
		return draft{}
	}
	d := draft{schema: f.values["input"]}
	d.flow.Name, _ = f.name("workflow")
	if !f.has("workflow") {
		f.missing("workflow", "write workflow: and the name of the workflow")
	}
	d.flow.Version = f.whole("version", 1, maxVersion, 1)
	if !f.has("version") {
		f.missing("version", "write version: 1")
	}
	d.flow.CompleteWithin = f.duration("completeWithin", maxDuration)
	if !f.has("completeWithin") {
		f.missing("completeWithin", "write completeWithin: and by when, from its submission, a task must have ended, such as 24h")
	}
	d.flow.OnOverdue = choice(f, "onExhausted", task.OnError, task.OnError, task.OnCompensate)
	d.flow.Priority = choice(f, "priority", task.Normal, task.High, task.Normal, task.Low)
	if _, ok := f.text("input", "write the path of a JSON Schema, such as schemas/order.json"); !ok {
		d.schema = nil
	}
	d.readSteps(f)
	return d
}

func (d *draft) readSteps(f fields) {
	const want = "write steps: and under it the steps, each a name with its fields"
	steps := f.values["steps"]
	switch {
	case steps == nil:
		f.missing("steps", want)
		return
	case steps.kind == unreadNode:
		return
	case steps.kind != mappingNode || len(steps.entries) == 0:
		f.report.add(f.places["steps"], want, "workflow: steps is %s", describe(steps))
		return
	case len(steps.entries) > task.MaxSteps:
		f.report.add(steps.entries[task.MaxSteps].at, "split the workflow", "workflow: there are %d steps, at most %d are allowed", len(steps.entries), task.MaxSteps)
		return
	}
	for i, e := range steps.entries {
		if !validName(e.key) {
			f.report.add(e.at, wantName, "step %q is not a name", shorten(e.key, 80))
		}
		step := d.readStep(f.report, e)
		if step.implied && i > 0 {
			step.after = []reference{{steps.entries[i-1].key, e.at}}
		}
		d.steps = append(d.steps, step)
	}
}

// readStep reads one step; each kind of step has its own fields.
func (d *draft) readStep(r *report, e entry) *draftStep {
	subject := "step " + strconv.Quote(shorten(e.key, maxName))
	f := r.fieldsOf(e.value, e.at, subject, "write agent: and the agent's name, or wait:, or signal:", stepFields)
	s := &draftStep{fields: f}
	s.Name = e.key
	s.readAfter()
	s.Retry = task.Retry{Attempts: defaultAttempts, First: defaultFirst, Factor: defaultFactor, Max: defaultMax}
	s.OnExhausted = choice(f, "onExhausted", d.flow.OnOverdue, task.OnError, task.OnCompensate, task.OnWait)
	if e.value.kind != mappingNode || !s.oneOfKind() {
		return s
	}
	switch {
	case f.has("agent"):
		s.readAgent(d.flow)
	case f.has("wait"):
		s.readTimer(d.flow)
	default:
		s.readSignal(d.flow)
	}
	if !f.has("wait") {
		s.readExtendedWait(d.flow.OnOverdue)
	}
	return s
}

// oneOfKind checks that the step is of exactly one kind.
func (s *draftStep) oneOfKind() bool {
	var given []string
	for _, kind := range []string{"agent", "wait", "signal"} {
		if s.fields.has(kind) {
			given = append(given, kind)
		}
	}
	const want = "write exactly one of agent, wait and signal"
	switch len(given) {
	case 0:
		s.fields.report.add(s.fields.at, want, "%s: there is no agent, wait or signal", s.fields.subject)
		return false
	case 1:
		return true
	}
	second := given[1]
	s.fields.report.add(s.fields.places[second], want, "%s: there is %s and %s", s.fields.subject, given[0], second)
	return false
}

func (s *draftStep) readAfter() {
	f := s.fields
	n := f.values["after"]
	if n == nil {
		s.implied = true
		return
	}
	const want = "write the name of a step, a list of names, or [] to start at once"
	names := []*node{n}
	switch n.kind {
	case textNode, unreadNode:
	case listNode:
		names = n.items
	default:
		f.wrong("after", want)
		return
	}
	seen := map[string]bool{}
	for _, item := range names {
		switch {
		case item.kind == unreadNode:
		case item.kind != textNode:
			f.report.add(item.at, want, "%s: after has %s", f.subject, describe(item))
		case seen[item.text]:
			f.report.add(item.at, "name each step once", "%s: after names %q twice", f.subject, shorten(item.text, 80))
		default:
			seen[item.text] = true
			s.after = append(s.after, reference{item.text, item.at})
		}
	}
}

func (s *draftStep) readAgent(flow task.Workflow) {
	f := s.fields
	s.Agent, _ = f.name("agent")
	s.CompleteWithin = f.duration("completeWithin", min(defaultCompleteWithin, flow.CompleteWithin))
	s.within("completeWithin", s.CompleteWithin, flow.CompleteWithin)
	s.Retry = f.retry(defaultAttempts)
	if !f.has("undo") {
		return
	}
	undo := f.report.fieldsOf(f.values["undo"], f.places["undo"], f.subject+": undo",
		"write undo: {} or its completeWithin and retry", undoFields)
	s.Undo = &task.Undo{
		CompleteWithin: undo.duration("completeWithin", s.CompleteWithin),
		Retry:          undo.retry(defaultUndoAttempts),
	}
}

// readTimer reads a step that only lets time pass. Nothing is attempted, so its
// deadline is its end.
func (s *draftStep) readTimer(flow task.Workflow) {
	s.Wait = s.fields.duration("wait", minDuration)
	s.CompleteWithin = s.Wait
	s.within("wait", s.Wait, flow.CompleteWithin)
	s.refuse("timer", "completeWithin", "retry", "undo", "input", "extendedWait")
	if s.OnExhausted == task.OnWait {
		s.fields.bad("onExhausted", "write error or compensate", "a timer can't be retried, so onExhausted can't be wait")
	}
}

// readSignal reads a step that waits for the application. Waiting again is not
// a retry, so there is one attempt; it may take as long as the task.
func (s *draftStep) readSignal(flow task.Workflow) {
	s.Signal, _ = s.fields.name("signal")
	s.CompleteWithin = s.fields.duration("completeWithin", flow.CompleteWithin)
	s.within("completeWithin", s.CompleteWithin, flow.CompleteWithin)
	s.Retry.Attempts = 1
	s.refuse("signal step", "retry", "undo", "input")
}

// refuse reports fields that this kind of step can't have.
func (s *draftStep) refuse(kind string, names ...string) {
	for _, name := range names {
		if at, found := s.fields.places[name]; found {
			s.fields.report.add(at, "remove it", "%s: a %s has no %s", s.fields.subject, kind, name)
		}
	}
}

// within checks a step's deadline against the task's.
func (s *draftStep) within(name string, d, whole time.Duration) {
	if d > whole && s.fields.has(name) {
		s.fields.bad(name, "write a shorter time, or give the workflow more", "%s %s is longer than the workflow's completeWithin %s",
			name, s.fields.values[name].text, brief(whole))
	}
}

// retry reads the field retry; attempts is its default.
func (f fields) retry(attempts int) task.Retry {
	out := task.Retry{Attempts: attempts, First: defaultFirst, Factor: defaultFactor, Max: defaultMax}
	if !f.has("retry") {
		return out
	}
	r := f.report.fieldsOf(f.values["retry"], f.places["retry"], f.subject+": retry",
		"write {attempts: 4, first: 1s, factor: 2, max: 1m}", retryFields)
	out.Attempts = r.whole("attempts", 1, maxAttempts, attempts)
	out.First = r.duration("first", defaultFirst)
	out.Factor = r.factor()
	// A long first wait without a max means waits of that length.
	out.Max = r.duration("max", max(defaultMax, out.First))
	if out.Max < out.First {
		r.bad("max", "write a max that is at least first", "max %s is shorter than first %s", brief(out.Max), brief(out.First))
	}
	return out
}

func (f fields) factor() float64 {
	n := f.values["factor"]
	if n == nil {
		return defaultFactor
	}
	const want = "write a number from 1 (equal waits) to 100"
	if n.kind != numberNode {
		f.wrong("factor", want)
		return defaultFactor
	}
	v, err := strconv.ParseFloat(n.text, 64)
	if err != nil || !jsonNumber(n.text) || v < 1 || v > maxFactor {
		f.bad("factor", want, "factor is %s", shorten(n.text, 40))
		return defaultFactor
	}
	return v
}

// readExtendedWait reads the park-and-try-again that goes with wait.
func (s *draftStep) readExtendedWait(then task.OnExhausted) {
	f := s.fields
	given, waits := f.has("extendedWait"), s.OnExhausted == task.OnWait
	switch {
	case waits && !given:
		f.bad("onExhausted", "write extendedWait: {for: 1h, times: 24}", "onExhausted is wait, but there is no extendedWait")
		return
	case given && !waits:
		f.report.add(f.places["extendedWait"], "write onExhausted: wait, or remove extendedWait",
			"%s: there is an extendedWait, but onExhausted is %s", f.subject, s.OnExhausted)
		return
	case !given:
		return
	}
	w := f.report.fieldsOf(f.values["extendedWait"], f.places["extendedWait"], f.subject+": extendedWait",
		"write {for: 1h, times: 24}", waitFields)
	for _, name := range []string{"for", "times"} {
		if !w.has(name) && f.values["extendedWait"].kind == mappingNode {
			w.missing(name, "write for: how long to park, and times: how often")
		}
	}
	s.ExtendedWait = task.ExtendedWait{
		For:   w.duration("for", minDuration),
		Times: w.whole("times", 1, maxWaits, 1),
		Then:  choice(w, "then", then, task.OnError, task.OnCompensate),
	}
}
