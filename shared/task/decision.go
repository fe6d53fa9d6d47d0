package task

// Decision is what Decide made of an event: the next record and, to be sent
// once that is committed, every message it implies.
type Decision struct {
	// Task is the next record when Changed, else the one given. When Changed
	// its Version is one more than that of the record given.
	Task    Task
	Changed bool
	// Verdict says what became of the event.
	Verdict Verdict
	// Why explains a verdict other than Applied, for logs and callers.
	Why string
	// Locks are the steps that were touched, with their LockedBy as read: the
	// second fence of the commit, beside Version.
	Locks []Lock
	// Outputs are the step outputs that are new in Task.
	Outputs  []Output
	Requests []Request
	Wakes    []Wake
	Notices  []Notice
	Alerts   []Alert
	// Moves are the transitions taken, for logs and metrics.
	Moves []Move
}

// Lock is a step and the LockedBy that was read for it.
type Lock struct{ Step, LockedBy string }

// Verdict says what became of an event.
type Verdict string

// The verdicts. Only Applied changes anything.
const (
	// Applied: the record changes.
	Applied Verdict = "applied"
	// Idle: there is nothing to do now.
	Idle Verdict = "idle"
	// Repeated: nothing changes, but what the record implies is said again.
	Repeated Verdict = "repeated"
	// Duplicate: the event had been applied before.
	Duplicate Verdict = "duplicate"
	// Stale: the token is not the live one: a late or foreign reply.
	Stale Verdict = "stale"
	// Refused: an operator's or an application's request does not fit the
	// task's state; Why is for the caller.
	Refused Verdict = "refused"
)

// Verdicts lists them all.
func Verdicts() []Verdict { return []Verdict{Applied, Idle, Repeated, Duplicate, Stale, Refused} }

// Move is one transition of the task (Step empty) or of a step.
type Move struct {
	Step     string
	From, To State
	Cause    Cause
}

// Says reports whether the decision has notices or alerts to send.
func (d Decision) Says() bool { return len(d.Notices)+len(d.Alerts) > 0 }
