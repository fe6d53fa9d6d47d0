package emf

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"triad/shared/agent"
	"triad/shared/supervisor"
	"triad/shared/task"
)

// Config makes Metrics. Stack, Function and Out are required.
type Config struct {
	// Stack and Function are the dimensions: the deployment, and the function's
	// role in it (scheduler), the same in every deployment.
	Stack, Function string
	// Out is where lines go: os.Stdout.
	Out io.Writer
	// Agents returns what this function's agents have counted since it started;
	// each flush writes what is new. Nil when it has none.
	Agents func() agent.Stats
	// Clock tells the time. Defaults to time.Now.
	Clock func() time.Time
}

// Metrics counts until it is flushed:
//
//	Deliveries        messages that were delivered to this function
//	TasksSubmitted    tasks that were accepted; TasksHeld: those of them that have to wait for room
//	TasksProcessed, TasksFailed (Error), TasksCompensated, TasksCancelled: tasks that ended so
//	TaskSeconds       from submission to the end of a task, one value per task
//	StepsClaimed      attempts that were begun, but for those to undo
//	StepRetries       attempts that failed and are to be tried again, those to undo included
//	StepTimeouts      attempts and waits for signals that the Supervisor ended at their CompleteBy
//	StaleReplies      replies and heartbeats that were too late
//	Duplicates        events that had been applied before
//	Repeats           events that changed nothing, and had what the record implies said again
//	Sweeps            sweeps that looked everywhere: the Supervisor's heartbeat
//	SweepActed        tasks that the Supervisor acted on
//	SweepFailed       sweeps with an error, or with a task that could not be acted on
//	OverdueSeconds    how far the earliest task of a sweep was past its CompleteBy
//	DoctorFindings    what an examination found, and the checks that failed
//	Agent...          agent.Stats
//
// Make it with New. It is safe for concurrent use.
type Metrics struct {
	cfg Config

	mu     sync.Mutex
	counts [metrics]float64
	shown  [metrics]bool // also when zero
	lives  []float64     // of tasks that ended, seconds
	agents agent.Stats   // as of the last flush
}

// New makes Metrics. It panics when Stack, Function or Out is missing.
func New(c Config) *Metrics {
	if c.Stack == "" || c.Function == "" || c.Out == nil {
		panic("emf: Config needs a Stack, a Function and an Out")
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	m := &Metrics{cfg: c}
	if c.Agents != nil {
		m.agents = c.Agents()
	}
	return m
}

// Delivered hears of messages that are about to be handled.
func (m *Metrics) Delivered(messages int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[deliveries] += float64(messages)
}

// Decided implements engine.Observer.
func (m *Metrics) Decided(e task.Event, d task.Decision) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch d.Verdict {
	case task.Stale:
		m.counts[staleReplies]++
	case task.Duplicate:
		m.counts[duplicates]++
	case task.Repeated:
		m.counts[repeats]++
	case task.Applied:
		m.moved(d)
		m.ended(e, d)
	}
	if e.Kind == task.Submitted && e.Hold && d.Changed {
		m.counts[tasksHeld]++
	}
}

// moved counts the transitions of a decision.
func (m *Metrics) moved(d task.Decision) {
	for _, move := range d.Moves {
		switch {
		case move.Cause == task.BecauseSubmitted:
			m.counts[tasksSubmitted]++
		case move.Step != "" && move.Cause == task.BecauseClaimed:
			m.counts[stepsClaimed]++
		case move.Cause == task.BecauseRetried:
			m.counts[stepRetries]++
		case move.Step == "" && move.To.Finished():
			m.finished(d.Task, move.To)
		}
	}
}

func (m *Metrics) finished(t task.Task, as task.State) {
	switch as {
	case task.Processed:
		m.counts[tasksProcessed]++
	case task.Error:
		m.counts[tasksFailed]++
	case task.Compensated:
		m.counts[tasksCompensated]++
	case task.Cancelled:
		m.counts[tasksCancelled]++
	}
	m.lives = append(m.lives, float64(t.EndedAt-t.CreatedAt)/1000)
}

// ended counts what transitions don't tell: live attempts that a decision ended.
// Its locks name them, by the owner that was read.
func (m *Metrics) ended(e task.Event, d task.Decision) {
	for _, lock := range d.Locks {
		s, known := d.Task.Step(lock.Step)
		if lock.LockedBy == "" || !known {
			continue
		}
		move, moved := left(d, lock.Step)
		if !moved && s.State == task.Compensating && !s.Live() {
			m.counts[stepRetries]++ // an undo that failed stays Compensating
		}
		if e.Kind == task.Overdue && !stopped(move) {
			m.counts[stepTimeouts]++
		}
	}
}

// left is the first transition of a step in a decision.
func left(d task.Decision, step string) (task.Move, bool) {
	for _, move := range d.Moves {
		if move.Step == step {
			return move, true
		}
	}
	return task.Move{}, false
}

// stopped reports the end of a timer, or of one that had time left and ended
// with its task.
func stopped(m task.Move) bool {
	return m.Cause == task.BecauseElapsed || m.Cause == task.BecauseEnding && m.To != task.Error
}

// Swept hears of a sweep. One that looked everywhere counts among Sweeps, whose
// absence says that nobody recovers tasks, also when it could not act on some: of
// those OverdueSeconds and the doctor tell.
func (m *Metrics) Swept(r supervisor.Report, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[sweepActed] += float64(r.Acted)
	m.counts[overdueSeconds] = max(m.counts[overdueSeconds], r.Oldest.Seconds())
	m.shown[overdueSeconds] = true
	if err != nil || r.Failed > 0 {
		m.counts[sweepFailed]++
	}
	if err == nil {
		m.counts[sweeps]++
	}
}

// Examined hears how much the doctor found wrong, or could not check. It is
// written also when that is nothing.
func (m *Metrics) Examined(findings int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[doctorFindings] = float64(findings)
	m.shown[doctorFindings] = true
}

// Flush writes what was counted since the last flush, and forgets it. After an
// error, which comes from the writer, it is written with what comes later.
func (m *Metrics) Flush() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts, agents := m.counts, m.agents
	if m.cfg.Agents != nil {
		agents = m.cfg.Agents()
		for name, n := range ofAgents(m.agents, agents) {
			counts[name] += float64(n)
		}
	}
	text, err := m.lines(counts)
	if err != nil || len(text) == 0 {
		return err
	}
	if _, err := m.cfg.Out.Write(text); err != nil {
		return fmt.Errorf("writing metrics: %w", err)
	}
	m.counts, m.shown, m.lives, m.agents = [metrics]float64{}, [metrics]bool{}, nil, agents
	return nil
}

// maxValues is how many values of a metric a line may have.
const maxValues = 100

// lines are the documents of a flush: one, and one more for every maxValues
// values that don't fit.
func (m *Metrics) lines(counts [metrics]float64) ([]byte, error) {
	first, rest := map[metric]any{}, m.lives
	for name, n := range counts {
		if n != 0 || m.shown[name] {
			first[metric(name)] = n
		}
	}
	var text []byte
	for values := first; len(values) > 0 || len(rest) > 0; values = map[metric]any{} {
		if n := min(len(rest), maxValues); n > 0 {
			values[taskSeconds], rest = rest[:n], rest[n:]
		}
		line, err := m.line(values)
		if err != nil {
			return nil, err
		}
		text = append(append(text, line...), '\n')
	}
	return text, nil
}

// definition and directive are the parts of the format that describe metrics.
type definition struct {
	Name string
	Unit unit
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

// line is one document: what its metrics are under _aws, and beside it their
// values.
func (m *Metrics) line(values map[metric]any) ([]byte, error) {
	root := map[string]any{"Stack": m.cfg.Stack, "Function": m.cfg.Function}
	described := directive{Namespace: namespace, Dimensions: [][]string{{"Stack", "Function"}}}
	for name := range metrics {
		if value, has := values[name]; has {
			root[names[name].name] = value
			described.Metrics = append(described.Metrics, definition{names[name].name, names[name].unit})
		}
	}
	root["_aws"] = map[string]any{"Timestamp": m.cfg.Clock().UnixMilli(), "CloudWatchMetrics": []directive{described}}
	line, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("describing metrics: %w", err)
	}
	return line, nil
}
