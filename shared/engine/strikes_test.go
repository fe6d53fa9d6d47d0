package engine_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/engine/enginetest"
	"triad/shared/operator"
	"triad/shared/queue"
	"triad/shared/queue/memqueue"
	"triad/shared/task"
)

var all = flag.Bool("all", false, "have every pair of calls fail, which takes minutes")

// canonical are the ways that an order can go. Each is a definition, how its
// services answer, and what an operator asks for, once, as soon as it can be.
var canonical = []struct {
	name   string
	text   string
	answer func(task.Request) (reply task.Reply, silent bool)
	ask    operator.Verb
	asked  func(*enginetest.Rig, task.Task) bool
	ends   task.State
}{
	{name: "three steps in sequence", text: three, ends: task.Processed},
	{name: "a retry, then success", text: three, ends: task.Processed, answer: at("b", 1, task.FailedTransiently)},
	{name: "a refusal, and all is undone", text: three, ends: task.Compensated, answer: at("c", 0, task.FailedPermanently)},
	{name: "no answer, and a reset by the Supervisor", text: three, ends: task.Processed, answer: at("b", 1, "")},
	{name: "two at once, and a join", text: join, ends: task.Processed},
	{name: "an extended wait", text: parked, ends: task.Processed, answer: at("b", 1, task.FailedTransiently)},
	{
		name: "cancelled under way", text: three, ends: task.Cancelled, ask: operator.Cancel,
		asked: func(_ *enginetest.Rig, t task.Task) bool { return t.Steps[1].State == task.Processing },
	},
	{
		name: "failed, mended and resubmitted", text: stops, ends: task.Processed, answer: at("b", 1, task.FailedPermanently),
		ask: operator.Resubmit, asked: func(rig *enginetest.Rig, t task.Task) bool { // once that it failed was told
			return t.State == task.Error && rig.Outlet.Told["o-1/alert/0"] > 0 && rig.Outlet.Told["o-1/Error/0"] > 0
		},
	},
}

const three = `
workflow: order
version: 1
completeWithin: 24h
onExhausted: compensate
steps:
  a: {agent: x, completeWithin: 10s, undo: {completeWithin: 10s}}
  b: {agent: y, completeWithin: 10s, undo: {completeWithin: 10s}}
  c: {agent: z, completeWithin: 10s}
`

const join = `
workflow: order
version: 1
completeWithin: 24h
steps:
  a: {agent: x, after: [], completeWithin: 10s}
  b: {agent: y, after: [], completeWithin: 10s}
  c: {agent: z, after: [a, b], completeWithin: 10s}
`

const parked = `
workflow: order
version: 1
completeWithin: 240h
steps:
  a: {agent: x, completeWithin: 10s}
  b: {agent: y, completeWithin: 10s, retry: {attempts: 1}, onExhausted: wait, extendedWait: {for: 1h, times: 5}}
`

const stops = `
workflow: order
version: 1
completeWithin: 24h
steps:
  a: {agent: x, completeWithin: 10s}
  b: {agent: y, completeWithin: 10s, onExhausted: error}
`

// at has the first so many attempts of a step end in a way, all if attempts is 0;
// every other call succeeds. No outcome is no answer.
func at(step string, attempts int, outcome task.Outcome) func(task.Request) (task.Reply, bool) {
	return func(r task.Request) (task.Reply, bool) {
		if r.Step != step || r.Undo || attempts > 0 && r.Attempt > attempts {
			return task.Reply{Outcome: task.Succeeded}, false
		}
		return task.Reply{Outcome: outcome, Error: "as told"}, outcome == ""
	}
}

// TestEverySingleCallMayFailInEveryWay fails each call of each order in each way.
func TestEverySingleCallMayFailInEveryWay(t *testing.T) {
	t.Parallel()
	runs := 0
	for i := range canonical {
		calm := newCourse(t, i, nil)
		calm.run()
		for call := 1; call <= calm.ports.Calls; call++ {
			for _, how := range strikes {
				c := newCourse(t, i, map[int]enginetest.Strike{call: how})
				c.run()
				c.compare(calm)
				runs++
			}
		}
		t.Logf("%-42s %3d calls", canonical[i].name, calm.ports.Calls)
	}
	if t.Logf("%d single faults", runs); runs < 800 {
		t.Errorf("%d runs: too few", runs)
	}
}

// TestEveryPairOfCallsMayFail fails each pair, or, without -all, one in so many
// that it takes seconds.
func TestEveryPairOfCallsMayFail(t *testing.T) {
	t.Parallel()
	stride, runs, pair := 61, 0, 0
	if *all {
		stride = 1
	}
	for i := range canonical {
		calm := newCourse(t, i, nil)
		calm.run()
		for first := 1; first <= calm.ports.Calls; first++ {
			for second := first + 1; second <= calm.ports.Calls+20; second++ { // a fault makes for more calls
				for n := range len(strikes) * len(strikes) {
					if pair++; pair%stride != 0 {
						continue
					}
					c := newCourse(t, i, map[int]enginetest.Strike{first: strikes[n/len(strikes)], second: strikes[n%len(strikes)]})
					c.run()
					c.compare(calm)
					runs++
				}
			}
		}
	}
	if t.Logf("%d of %d pairs of faults", runs, pair); runs < 1000 {
		t.Errorf("%d runs: too few", runs)
	}
}

var strikes = []enginetest.Strike{enginetest.Refused, enginetest.Hidden, enginetest.Dead, enginetest.DeadAfter}

// course is one order on its way, through ports that fail.
type course struct {
	t       *testing.T
	n       int
	name    string
	rig     *enginetest.Rig
	ports   *enginetest.Ports
	process *enginetest.Process
	starts  int
	asked   bool
}

func newCourse(t *testing.T, n int, faults map[int]enginetest.Strike) *course {
	t.Helper()
	c := &course{t: t, n: n, name: fmt.Sprintf("%s, %v", canonical[n].name, faults), rig: enginetest.New(t, canonical[n].text), ports: &enginetest.Ports{}}
	if len(faults) > 0 {
		c.ports.At = func(call int) enginetest.Strike { return faults[call] }
	}
	c.restart()
	c.rig.Enqueue(enginetest.Submission("o-1"))
	return c
}

// restart is what follows the death of a process: another one.
func (c *course) restart() {
	c.starts++
	c.ports.Died = false
	c.process = c.rig.StartThrough(fmt.Sprintf("p%d", c.starts), c.ports)
}

// run goes on until nothing is left to do.
func (c *course) run() {
	c.t.Helper()
	for range 3000 {
		if c.ask() || c.deliver() {
			continue
		}
		due, found := c.rig.NextDue()
		if !found {
			return
		}
		c.rig.Clock.Reach(due)
		_, _ = c.process.Supervisor.Sweep(context.Background()) // what fails is found again
		c.mourn()
	}
	c.t.Fatalf("%s: not at rest: %s", c.name, enginetest.Line(c.rig.Task("o-1")))
}

// mourn restarts a process that has died, and reports whether it had.
func (c *course) mourn() bool {
	died := c.ports.Died
	if died {
		c.restart()
	}
	return died
}

// deliver hands one message of each queue to its handler.
func (c *course) deliver() bool {
	some := c.handle(c.rig.Queues.Submissions, c.process.Submission.Handle)
	some = c.handle(c.rig.Queues.ToScheduler, c.process.Scheduler.Handle) || some
	for _, name := range slices.Sorted(maps.Keys(c.rig.Queues.Agents)) {
		some = c.handle(c.rig.Queues.Agents[name], c.serve) || some
	}
	return some
}

// handle is one message: deleted once it is done with, which may fail as well; or
// it comes again.
func (c *course) handle(q *memqueue.Queue, handler func(context.Context, queue.Delivery) error) bool {
	ctx := context.Background()
	ds, err := q.Receive(ctx, 1, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, d := range ds {
		err := handler(ctx, d)
		if err == nil && !c.ports.Died {
			err = c.ports.Do("deleting", func() error { return q.Delete(ctx, d.Receipt) })
		}
		if dead := c.mourn(); err != nil || dead {
			_ = q.Release(ctx, d.Receipt, 0) // it may have been deleted after all
		}
	}
	return len(ds) > 0
}

// serve is an agent with its service.
func (c *course) serve(ctx context.Context, d queue.Delivery) error {
	answer := canonical[c.n].answer
	if answer == nil {
		answer = at("", 0, "")
	}
	r, err := queue.DecodeRequest(d.Body)
	if err != nil {
		return err
	}
	silent := false
	c.rig.Services.Answer = func(r task.Request) (reply task.Reply) { reply, silent = answer(r); return reply }
	if _, silent = answer(r); silent {
		return nil
	}
	return c.ports.Do("serving", func() error { return c.rig.Services.Handle(ctx, d, c.rig.Queues) })
}

// ask has the operator ask, and ask again when it got an error.
func (c *course) ask() bool {
	s := canonical[c.n]
	versions := c.rig.Table.Versions("o-1")
	if s.ask == "" || c.asked || len(versions) == 0 || !s.asked(c.rig, versions[len(versions)-1]) {
		return false
	}
	_, err := c.process.Operator.Do(context.Background(), "o-1", operator.Ask{Verb: s.ask})
	c.asked = err == nil
	c.mourn()
	return true
}

// compare holds the end of an order against that of the one without a fault.
func (c *course) compare(calm *course) {
	c.t.Helper()
	got := c.rig.Task("o-1")
	if got.State != canonical[c.n].ends || got.Owing || got.CompleteBy != 0 {
		c.t.Errorf("%s: ended as %s, owing %v, CompleteBy %d", c.name, enginetest.Line(got), got.Owing, got.CompleteBy)
	}
	if diff := cmp.Diff(calm.rig.Services.Effects(), c.rig.Services.Effects()); diff != "" {
		c.t.Errorf("%s: effects (-calm +got):\n%s", c.name, diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(calm.rig.Outlet.Told)), slices.Sorted(maps.Keys(c.rig.Outlet.Told))); diff != "" {
		c.t.Errorf("%s: told (-calm +got):\n%s", c.name, diff)
	}
	c.rig.Check("o-1")
}
