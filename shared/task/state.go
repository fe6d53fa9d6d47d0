package task

// State is a ProcessState, of a task or of a step. The comment of each says who
// moves a task or step in, who moves it out, and what a crash leaves behind.
// transitions.go lists every move as data; nothing else is possible.
type State string

// The states.
const (
	// Pending: nobody owns it. A task is Pending from a submission that was
	// held back until a Scheduler claims its first step. A step is Pending
	// until its predecessors are done, and between two attempts. A crash
	// leaves a look-again time in the index; the Supervisor sends a wake-up.
	Pending State = "Pending"
	// Processing: a task with a step claimed or done. A step with a live
	// attempt (LockedBy, Attempt, CompleteBy set). Left by a reply, by the
	// Supervisor once CompleteBy has passed, or by cancel. A crash leaves the
	// deadline in the index.
	Processing State = "Processing"
	// Processed: done. For a task, final. A step leaves it only to be undone.
	Processed State = "Processed"
	// Error: given up on. For a task, final until an operator resubmits or
	// asks for undo, alerted when entered. For a step, its forward work failed
	// or, with Undo set, its undo did.
	Error State = "Error"
	// Compensating: being undone. A task is Compensating until no step is left
	// to undo. A step is Compensating from the first claim of its undo until
	// that succeeded; LockedBy tells a live attempt from a wait for the next.
	Compensating State = "Compensating"
	// Compensated: undone. Final.
	Compensated State = "Compensated"
	// Cancelled: for a task, ended by an operator, what was done is undone.
	// For a step, never started, or stopped without an effect, because the
	// task was cancelled or undone. Final.
	Cancelled State = "Cancelled"
	// Skipped: a step whose `when` was false. Counts as done for those after
	// it; nothing to undo. Final.
	Skipped State = "Skipped"
)

// Finished reports whether a task in this state needs no more work.
func (s State) Finished() bool {
	switch s {
	case Processed, Error, Compensated, Cancelled:
		return true
	}
	return false
}

// done reports whether a step in this state lets those after it start.
func (s State) done() bool { return s == Processed || s == Skipped }
