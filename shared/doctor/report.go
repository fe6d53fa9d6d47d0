package doctor

import (
	"context"
	"log/slog"
	"slices"

	"triad/shared/task"
)

// Name names a check.
type Name string

// The checks, in the order of a Report.
const (
	// Overdue: nobody has looked at a task for Bounds.Overdue after its
	// CompleteBy.
	Overdue Name = "overdue"
	// Held: a task has waited for room for Bounds.Held.
	Held Name = "held"
	// Index: a row of the index is not what its record says.
	Index Name = "index"
	// Unindexed: a record that needs somebody to look at it is not in the index,
	// or too late there, or in a shard that nobody sweeps.
	Unindexed Name = "unindexed"
	// Definitions: the definition of an unfinished task is missing.
	Definitions Name = "definitions"
	// Agents: a definition of an unfinished task names an agent that is missing.
	Agents Name = "agents"
	// Records: a record can't be read, or breaks a rule (task.Verify).
	Records Name = "records"
	// Sizes: a record is near the largest that the store accepts.
	Sizes Name = "sizes"
	// DeadLetters: messages that could not be processed wait.
	DeadLetters Name = "dead-letters"
	// Integrity: the files of the store are damaged.
	Integrity Name = "integrity"
)

// table has what each check looks at, and what to do about its findings.
var table = [...]struct {
	name     Name
	of, todo string
}{
	{Overdue, "shards", "see that a Supervisor runs, and what its log and its metric of failed sweeps say; then look at a task: triad show ID"},
	{Held, "shards", "see which agent's queue is full and how fast its service is; take in less, or let the agent make more calls at once"},
	{Index, "index rows", "somebody wrote beside the engine, or the store is damaged: compare with triad show ID, then restore the store from a copy"},
	{Unindexed, "tasks", "nothing brings these tasks up: put them back into the index (docs/operations.md says how, for a file and for a stack), and find out what took them out"},
	{Definitions, "tasks", "bring back the definition under its name and version; until then these tasks wait"},
	{Agents, "tasks", "bring back the agent in agents.yaml; until then its steps end by their deadlines"},
	{Records, "tasks", "keep a copy of the store and report it: either the store is damaged or Triad has a bug; triad cancel ID ends a task that can be read"},
	{Sizes, "tasks", "return less from the steps of this workflow: keep results elsewhere and return where"},
	{DeadLetters, "queues", "triad rejected shows them with the reason; resend or dismiss each"},
	{Integrity, "files", "stop, keep a copy of the file, and restore it from a backup"},
}

// Names lists the checks.
func Names() []Name {
	names := make([]Name, len(table))
	for i := range table {
		names[i] = table[i].name
	}
	return names
}

// Status says how a check came out.
type Status string

// The statuses.
const (
	// OK: what was looked at is as it should be.
	OK Status = "ok"
	// Found: something is wrong.
	Found Status = "found"
	// NotChecked: it was not looked at; Why says what it would take.
	NotChecked Status = "not checked"
	// Failed: it could not be looked at to the end; Why has the error.
	Failed Status = "failed"
)

// Report is what an examination found.
type Report struct {
	// At is when it began.
	At task.Millis
	// Full is true when nothing was left to the next examination.
	Full bool
	// Checks has each check once, in the order of Names.
	Checks []Check
}

// Check is what one check found.
type Check struct {
	Name   Name
	Status Status
	// Looked is how many of Of ("tasks") were looked at; a task that came by two
	// ways counts twice.
	Looked int
	Of     string
	// Partial: there is more, which a later examination, or a full one, looks at.
	Partial bool
	// Found counts what is wrong; Examples has the first of it.
	Found    int
	Examples []Finding
	// Why is the reason of NotChecked and Failed.
	Why string
	// Action says what to do about what was found; empty when nothing was.
	Action string
}

// Finding is one thing that is wrong.
type Finding struct {
	// ID is the task, the queue or the file.
	ID string
	// What says what is wrong with it.
	What string
}

// Healthy reports that nothing was found and nothing has failed. What was not
// checked does not count.
func (r Report) Healthy() bool {
	return !slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Status == Found || c.Status == Failed })
}

// Findings counts what was found by all checks.
func (r Report) Findings() (n int) {
	for _, c := range r.Checks {
		n += c.Found
	}
	return n
}

// Log writes a line for each check that found something wrong or failed.
func (r Report) Log(ctx context.Context, to *slog.Logger) {
	for _, c := range r.Checks {
		switch c.Status {
		case Found:
			to.LogAttrs(ctx, slog.LevelError, "the doctor found something wrong", slog.String("check", string(c.Name)),
				slog.Int("found", c.Found), slog.String("first", c.Examples[0].ID), slog.String("what", c.Examples[0].What), slog.String("action", c.Action))
		case Failed:
			to.LogAttrs(ctx, slog.LevelError, "the doctor can't check", slog.String("check", string(c.Name)), slog.String("error", c.Why))
		}
	}
}

// maxFound is where a check ceases to count: more is no news to anybody.
const maxFound = 10_000

// tally is a check under way.
type tally struct {
	Check
	todo     string
	examples int
	seen     map[string]bool
}

// find notes that something is wrong with id; a second time it is no news.
func (t *tally) find(id task.ID, what string) { t.count(string(id), what, 1) }

func (t *tally) count(id, what string, n int) {
	switch {
	case t.seen[id]:
		return
	case t.Found >= maxFound:
		t.Partial = true
		return
	}
	t.seen[id] = true
	t.Found += n
	if len(t.Examples) < t.examples {
		t.Examples = append(t.Examples, Finding{ID: id, What: what})
	}
}

// fail notes that the check can't be made to its end.
func (t *tally) fail(err error) { t.Status, t.Why = Failed, err.Error() }

// skip notes that the check is not made, and why.
func (t *tally) skip(why string) { t.Status, t.Why = NotChecked, why }

// result is the check at its end.
func (t *tally) result() Check {
	switch {
	case t.Found > 0:
		t.Status, t.Action = Found, t.todo
	case t.Status == "":
		t.Status = OK
	}
	return t.Check
}
