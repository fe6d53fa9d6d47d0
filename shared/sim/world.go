package sim

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"triad/shared/queue"
	"triad/shared/task"
)

// noon is when every run begins: 1 March 2030, 12:00 UTC.
const noon = task.Millis(1_898_596_800_000)

// world is one run.
type world struct {
	options Options
	plan    plan
	rng     *rand.Rand
	now     task.Millis
	events  events
	hands   []*hand
	idlers  []*coroutine
	cur     *hand
	handSeq uint64
	// ports counts the calls at which hands stopped, asking is the one that is
	// being decided on.
	ports, asking int
	// calm: the second phase, without faults.
	calm bool
	// bounded are the tasks that were given a time by which they must have ended.
	bounded map[task.ID]bool

	table       *table
	writer      writer
	lines       []*line
	toScheduler *line
	toSubmit    *line
	shapes      []*shape
	agentNames  []string
	processes   []*process
	byRole      [numRoles][]*process
	clients     []*client
	effects     map[string]*effect
	downUntil   map[string]task.Millis
	awayUntil   task.Millis
	poisoned    task.ID  // its record can't be read any more
	replies     [][]byte // some of those that were sent, to be sent again

	model   *model
	tally   *Tally
	hash    uint64
	lines2  []string // the trace
	failed  *Violation
	history []Call
	moments int
}

func newWorld(o Options, samples []Sample) *world {
	w := &world{
		options: o, now: noon, effects: map[string]*effect{}, downUntil: map[string]task.Millis{},
		tally: &Tally{}, hash: 14695981039346656037,
	}
	w.plan, w.rng = draw(o)
	w.table = newTable(func() task.Millis { return w.now })
	w.table.lag = w.indexLag
	w.model = newModel(w)
	w.table.seen = w.model.committed
	w.drawShapes(samples)
	w.toSubmit = w.newLine(queue.Submissions, roleSubmission, "")
	w.toScheduler = w.newLine(queue.Scheduler, roleScheduler, "")
	for _, name := range w.agentNames {
		w.newLine(queue.AgentQueue(name), roleAgent, name)
	}
	w.startProcesses()
	return w
}

func (w *world) indexLag() task.Millis {
	if w.hit(IndexLag) {
		return task.Millis(w.rng.IntN(60_000))
	}
	return 0
}

// hit asks whether a fault strikes here and now.
func (w *world) hit(f Fault) bool {
	for _, s := range w.options.Strikes {
		if !w.calm && s.Fault == f && s.Call == w.asking {
			w.tally.Faults[f]++
			return true
		}
	}
	rate := w.plan.rates[f]
	if rate == 0 || w.calm || rate < 1 && w.rng.Float64() >= rate {
		return false
	}
	w.tally.Faults[f]++
	w.note(uint64(f) + 1<<40)
	return true
}

// note makes something part of the run's hash.
func (w *world) note(what uint64) {
	w.hash = (w.hash ^ what ^ uint64(w.now)<<1) * 1099511628211
	w.hash ^= w.hash >> 29
}

func (w *world) noteText(s string) {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	w.note(h)
}

// trace keeps a line, if somebody wants to read it.
func (w *world) trace(format string, args ...any) {
	if w.options.Trace {
		at := time.Duration(w.now-noon) * time.Millisecond
		w.lines2 = append(w.lines2, fmt.Sprintf("%12v  %s", at, fmt.Sprintf(format, args...)))
	}
}

// String names a hand in a trace.
func (h *hand) String() string {
	if h == nil {
		return "nobody"
	}
	return fmt.Sprintf("%s/%d", h.proc.name, h.id)
}

// run is the whole run: faults on, then mended.
func (w *world) run() {
	defer w.clear()
	defer func() {
		if p := recover(); p != nil {
			w.fail("panic", "", fmt.Sprintf("%v\n%s", p, debug.Stack()))
		}
	}()
	w.arrive()
	w.planMischief()
	if w.plan.rates[SupervisorAway] > 0 {
		w.hit(SupervisorAway)
		from := time.Duration(w.rng.IntN(600)) * time.Second
		w.events.add(w.now.Add(from), nil, func() { w.awayUntil = w.now.Add(time.Hour) })
	}
	if w.plan.rates[StorePoisoned] > 0 {
		w.events.add(w.now.Add(time.Duration(w.rng.Int64N(int64(w.plan.arrival+20*time.Second)))), nil, w.poison)
	}
	w.until(noon.Add(w.plan.span))
	if w.failed == nil {
		w.settle()
	}
}

// poison damages a record for good, preferably one that has not ended. It must not
// hold up any other.
func (w *world) poison() {
	if t := w.target(func(t *task.Task) bool { return !t.State.Finished() }); t != nil && w.hit(StorePoisoned) {
		w.poisoned = t.ID
		w.trace("the record of task %s is damaged", t.ID)
	}
}

// until lets things happen up to a time, or until there is nothing left to do.
func (w *world) until(end task.Millis) {
	for w.failed == nil {
		ticker, tick := w.nextTick(end)
		if len(w.events.all) > 0 && w.events.all[0].at <= tick {
			if w.events.all[0].at > end {
				break
			}
			e := w.events.next()
			w.now = max(w.now, e.at)
			if e.hand != nil {
				w.step(e.hand)
			} else {
				e.do()
			}
			continue
		}
		if ticker == nil || tick > end {
			break
		}
		w.now = max(w.now, tick)
		w.tick(ticker)
	}
	if w.failed == nil {
		w.now = max(w.now, min(end, w.now))
	}
}

// nextTick is when a Supervisor sweeps next. Sweeps that could find nothing are
// skipped: nothing happens before the next event, or before something is due.
func (w *world) nextTick(end task.Millis) (*process, task.Millis) {
	var first *process
	for _, p := range w.byRole[roleSupervisor] {
		if first == nil || p.nextTick < first.nextTick {
			first = p
		}
	}
	horizon := end + 1
	if len(w.events.all) > 0 {
		horizon = min(horizon, w.events.all[0].at)
	}
	if due, some := w.table.nextDue(w.poisoned); some {
		horizon = min(horizon, due.Add(-first.skew))
	} else if horizon > end {
		return nil, end + 1
	}
	if first.nextTick < horizon && horizon > w.now {
		period := task.Millis(w.plan.period.Milliseconds())
		first.nextTick += (horizon - first.nextTick + period - 1) / period * period
	}
	if w.now < w.awayUntil {
		first.nextTick = max(first.nextTick, w.awayUntil)
	}
	return first, first.nextTick
}

// tick has a Supervisor sweep, and sets its next time.
func (w *world) tick(p *process) {
	p.nextTick = w.now.Add(w.plan.period)
	if w.hit(TickLate) {
		p.nextTick += task.Millis(w.rng.Int64N(4 * w.plan.period.Milliseconds()))
	}
	if !p.up() || w.hit(TickMissed) {
		return
	}
	w.tally.Sweeps++
	w.spawn(p, w.sweep)
	if w.hit(TickDoubled) {
		w.spawn(p, w.sweep)
	}
}

func (w *world) sweep(h *hand) {
	h.begin(cause{kind: bySweep})
	report, _ := h.proc.supervisor.Sweep(h.ctx)
	w.model.swept(report)
	if w.tally.Faults[InputHeld] > 0 {
		_, _ = h.proc.supervisor.Admit(h.ctx, 1+w.rng.IntN(5))
	}
}

// clear ends what is left of the run's coroutines.
func (w *world) clear() {
	for len(w.hands) > 0 {
		w.kill(w.hands[len(w.hands)-1])
	}
	for _, c := range w.idlers {
		c.stop()
	}
}

// fail notes the first violation; the run then ends.
func (w *world) fail(rule string, id task.ID, detail string) {
	if w.failed == nil {
		w.failed = &Violation{Rule: rule, Task: id, Detail: detail, At: time.Duration(w.now-noon) * time.Millisecond}
		w.trace("VIOLATION of %s, task %s: %s", rule, id, detail)
	}
}
