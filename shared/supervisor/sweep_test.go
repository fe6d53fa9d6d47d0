package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/engine"
	"triad/shared/engine/enginetest"
	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/supervisor"
	"triad/shared/task"
)

// lost submits n tasks o-00, o-01, ... a second apart, whose first requests are
// lost, and lets all of them become late.
func lost(t *testing.T, rig *enginetest.Rig, p *enginetest.Process, n int) {
	t.Helper()
	for i := range n {
		rig.Submit(p, task.ID(fmt.Sprintf("o-%02d", i)))
		rig.Clock.Advance(time.Second)
	}
	rig.Lose()
	rig.Clock.Advance(11 * time.Second)
}

func sweep(t *testing.T, c supervisor.Config) supervisor.Report {
	t.Helper()
	c.Seed = 1
	report, err := supervisor.New(c).Sweep(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// admit brings back all held tasks.
func admit(t *testing.T, c supervisor.Config) supervisor.Report {
	t.Helper()
	c.Seed = 1
	report, err := supervisor.New(c).Admit(context.Background(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestALateStepIsResetAndASchedulerWoken(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	p := rig.Start("one")
	lost(t, rig, p, 1)
	report := sweep(t, supervisor.Config{Engine: p.Engine})
	want := supervisor.Report{Looked: 1, Acted: 1, Oldest: 2 * time.Second}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if got, want := enginetest.Line(rig.Task("o-00")), "Processing reserve:Pending#1!1"; got != want {
		t.Errorf("task is %s, want %s", got, want)
	}
	if n := len(rig.Receive(rig.Queues.Agents["inventory"])); n != 0 {
		t.Errorf("the Supervisor sent %d requests: it starts nothing", n)
	}
	if report := sweep(t, supervisor.Config{Engine: p.Engine}); report.Looked != 0 {
		t.Errorf("the next sweep found %+v, want nothing", report)
	}
	rig.Settle(p)
	if got := rig.Task("o-00"); got.State != task.Processed {
		t.Errorf("the task ended as %s", enginetest.Line(got))
	}
	rig.Check("o-00")
}

func TestTheGuardLetsSmallDifferencesOfClocksPass(t *testing.T) {
	t.Parallel()
	for guard, want := range map[time.Duration]int{0: 1, time.Second: 1, 2 * time.Second: 1, 2*time.Second + time.Millisecond: 0, time.Minute: 0} {
		rig := enginetest.New(t)
		p := rig.Start("one")
		lost(t, rig, p, 1)
		if got := sweep(t, supervisor.Config{Engine: p.Engine, Guard: guard}).Looked; got != want {
			t.Errorf("with a guard of %v %d rows were looked at, want %d", guard, got, want)
		}
	}
}

func TestACapBoundsASweepEarliestFirst(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		c     supervisor.Config
		acted int
		more  bool
	}{
		{"no bound", supervisor.Config{}, 10, false},
		{"a cap above what is there", supervisor.Config{Cap: 11}, 10, false},
		{"a cap of what is there", supervisor.Config{Cap: 10}, 10, false},
		{"a cap", supervisor.Config{Cap: 3}, 3, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rig := enginetest.New(t)
			p := rig.Start("one")
			lost(t, rig, p, 10)
			c.c.Engine = p.Engine
			report := sweep(t, c.c)
			if report.Acted != c.acted || report.More != c.more {
				t.Errorf("acted on %d, more %v; want %d, %v", report.Acted, report.More, c.acted, c.more)
			}
			for i := range 10 {
				if late := rig.Task(task.ID(fmt.Sprintf("o-%02d", i))).FailureCount == 0; late != (i >= c.acted) {
					t.Errorf("task %d is late still: %v; want the earliest %d to be recovered", i, late, c.acted)
				}
			}
		})
	}
}

func TestWhatOneSweepLeavesTheNextOnesFind(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	p := rig.Start("one")
	lost(t, rig, p, 10)
	s := supervisor.New(supervisor.Config{Engine: p.Engine, Cap: 4})
	var acted []int
	for more := true; more; {
		report, err := s.Sweep(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		acted, more = append(acted, report.Acted), report.More
	}
	if diff := cmp.Diff([]int{4, 4, 2}, acted); diff != "" {
		t.Errorf("acted on (-want +got):\n%s", diff)
	}
}

func TestEveryPageOfEveryShardIsSwept(t *testing.T) {
	t.Parallel()
	const n = 410 // more than two pages when there is one shard
	for _, shards := range []int{1, 3, 16} {
		rig := enginetest.New(t)
		rig.Shards = shards
		rig.Hold = true
		p := rig.Start("one")
		for i := range n {
			rig.Submit(p, task.ID(fmt.Sprintf("o-%03d", i)))
		}
		if report := admit(t, supervisor.Config{Engine: p.Engine}); report.Looked != n || report.Acted != n || report.More {
			t.Errorf("%d shards: %+v, want all of %d", shards, report, n)
		}
	}
}

// TestTenantsShareTheRoom: whoever has many tasks held is one among others, and
// what those don't need is his.
func TestTenantsShareTheRoom(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	rig.Hold = true
	p := rig.Start("one")
	left := map[string][]task.ID{}
	for tenant, n := range map[string]int{"many": 300, "some": 30, "rare": 3} {
		for i := range n {
			id := task.ID(fmt.Sprintf("%s-%03d", tenant, i))
			rig.SubmitFor(p, tenant, id)
			left[tenant] = append(left[tenant], id)
		}
	}
	s := supervisor.New(supervisor.Config{Engine: p.Engine, Seed: 1})
	// admitted is how many of each tenant are brought back: the first of those left.
	admitted := func(room int) (many, some, rare int, more bool) {
		report, err := s.Admit(context.Background(), room)
		if err != nil {
			t.Fatal(err)
		}
		back := map[string]int{}
		for tenant, ids := range left {
			n := 0
			for n < len(ids) && rig.Task(ids[n]).CompleteBy > task.At(rig.Clock.Now()) {
				n++
			}
			back[tenant], left[tenant] = n, ids[n:]
		}
		if total := back["many"] + back["some"] + back["rare"]; total != report.Acted {
			t.Errorf("%d tasks were acted on, and %v are brought back: not the oldest of each", report.Acted, back)
		}
		return back["many"], back["some"], back["rare"], report.More
	}
	if many, some, rare, more := admitted(33); rare != 3 || many != 15 || some != 15 || !more {
		t.Errorf("of 33: %d of many, %d of some, %d of rare, more %v; want 15, 15, 3, true", many, some, rare, more)
	}
	if many, some, rare, more := admitted(100); rare != 0 || some != 15 || many != 85 || !more {
		t.Errorf("of 100: %d of many, %d of some, %d of rare, more %v; want 85, 15, 0, true", many, some, rare, more)
	}
	if many, _, _, more := admitted(200); many != 200 || more {
		t.Errorf("of 200: %d of many, more %v; want 200, and no more", many, more)
	}
}

// TestHigherPrioritiesGoFirst, whatever the age of the others.
func TestHigherPrioritiesGoFirst(t *testing.T) {
	t.Parallel()
	const definition = "workflow: %[1]s\nversion: 1\ncompleteWithin: 1h\npriority: %[1]s\nsteps: {a: {agent: inventory}}\n"
	rig := enginetest.New(t, fmt.Sprintf(definition, "low"), fmt.Sprintf(definition, "normal"), fmt.Sprintf(definition, "high"))
	rig.Hold = true
	p := rig.Start("one")
	for _, name := range []string{"low", "normal", "high"} {
		for i := range 10 {
			sub := task.Submission{ID: task.ID(fmt.Sprint(name, "-", i)), Workflow: name, Order: []byte("{}"), Tenant: fmt.Sprint("tenant-", i)}
			if _, err := p.Submission.Submit(context.Background(), sub); err != nil {
				t.Fatal(err)
			}
		}
		rig.Clock.Advance(time.Second)
	}
	s := supervisor.New(supervisor.Config{Engine: p.Engine, Seed: 1})
	var got []string
	for range 6 {
		if _, err := s.Admit(context.Background(), 5); err != nil {
			t.Fatal(err)
		}
		rig.Deliver(p)
		rig.Deliver(p)
		line := ""
		for _, name := range []string{"high", "normal", "low"} {
			begun := 0
			for i := range 10 {
				if rig.Task(task.ID(fmt.Sprint(name, "-", i))).State != task.Pending {
					begun++
				}
			}
			line += fmt.Sprintf("%d %s ", begun, name)
		}
		got = append(got, line)
	}
	want := []string{
		"5 high 0 normal 0 low ", "10 high 0 normal 0 low ", "10 high 5 normal 0 low ",
		"10 high 10 normal 0 low ", "10 high 10 normal 5 low ", "10 high 10 normal 10 low ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("begun (-want +got):\n%s", diff)
	}
}

func TestTheCapHoldsOverAllShards(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	rig.Shards = 4
	p := rig.Start("one")
	lost(t, rig, p, 20)
	if report := sweep(t, supervisor.Config{Engine: p.Engine, Cap: 7}); report.Acted != 7 || !report.More {
		t.Errorf("%+v, want 7 acted on, and more", report)
	}
}

func TestSeveralSupervisorsAtOnceActOnce(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	p := rig.Start("one")
	const n = 20
	lost(t, rig, p, n)
	var all sync.WaitGroup
	var mu sync.Mutex
	acted := 0
	for i := range 4 {
		other := rig.Start(fmt.Sprintf("s%d", i))
		all.Go(func() {
			report, err := other.Supervisor.Sweep(context.Background())
			mu.Lock()
			defer mu.Unlock()
			if acted += report.Acted; err != nil || report.Failed > 0 {
				t.Errorf("%+v, %v", report, err)
			}
		})
	}
	all.Wait()
	if acted != n {
		t.Errorf("they acted %d times on %d tasks", acted, n)
	}
	for i := range n {
		if got, want := enginetest.Line(rig.Task(task.ID(fmt.Sprintf("o-%02d", i)))), "Processing reserve:Pending#1!1"; got != want {
			t.Errorf("task %d is %s, want %s", i, got, want)
		}
	}
}

func TestTheSpreadDelaysWakeUpsBelowItsBoundAndRepeatably(t *testing.T) {
	t.Parallel()
	delays := func(spread time.Duration) (visible, delayed int, last time.Time) {
		rig := enginetest.New(t)
		p := rig.Start("one")
		lost(t, rig, p, 10)
		// Waits before the next try are over at once: only the spread delays.
		rig.Hold = true
		for i := range 20 {
			rig.Submit(p, task.ID(fmt.Sprintf("held-%02d", i)))
		}
		sweep(t, supervisor.Config{Engine: p.Engine, Parallel: 1, Spread: spread})
		admit(t, supervisor.Config{Engine: p.Engine, Parallel: 1, Spread: spread})
		d, err := rig.Queues.ToScheduler.Depth(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		last, _ = rig.Queues.ToScheduler.NextDue()
		return d.Visible, d.Delayed, last
	}
	visible, _, _ := delays(0)
	if visible != 20 {
		t.Errorf("%d wake-ups come at once without a spread, want those of the 20 held", visible)
	}
	visible, delayed, first := delays(10 * time.Second)
	if visible > 1 || delayed < 29 {
		t.Errorf("%d wake-ups come at once and %d later, want all spread", visible, delayed)
	}
	if _, _, again := delays(10 * time.Second); !again.Equal(first) {
		t.Errorf("the same seed spreads to %v, then %v", first, again)
	}
}

func TestHeldTasksAreBroughtBackInOrder(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	rig.Hold = true
	p := rig.Start("one")
	for i := range 9 {
		rig.Submit(p, task.ID(fmt.Sprintf("o-%d", i)))
		rig.Clock.Advance(time.Millisecond)
	}
	s := supervisor.New(supervisor.Config{Engine: p.Engine})
	if report := sweep(t, supervisor.Config{Engine: p.Engine}); report.Looked != 0 {
		t.Errorf("a sweep looked at %d held tasks, want none", report.Looked)
	}
	for _, room := range []int{0, -1} {
		if report, err := s.Admit(context.Background(), room); err != nil || report != (supervisor.Report{}) {
			t.Errorf("without room: %+v, %v", report, err)
		}
	}
	for first := 0; first < 9; first += 3 {
		if report, err := s.Admit(context.Background(), 3); err != nil || report.Acted != 3 || report.More != (first < 6) {
			t.Fatalf("sweep: %+v, %v", report, err)
		}
		woken := map[task.ID]bool{}
		for _, d := range rig.Receive(rig.Queues.ToScheduler) {
			m, err := queue.DecodeToScheduler(d.Body)
			if err != nil {
				t.Fatal(err)
			}
			woken[m.Task()] = true
			rig.Delete(rig.Queues.ToScheduler, d)
		}
		for i := first; i < first+3; i++ {
			if id := task.ID(fmt.Sprintf("o-%d", i)); !woken[id] || len(woken) != 3 {
				t.Errorf("woken are %v, want o-%d to o-%d", woken, first, first+2)
			}
		}
	}
}

// deaf is a store of which one shard can't be read.
type deaf struct {
	store.Store
	shard int
}

func (s deaf) Due(ctx context.Context, q store.DueQuery) (store.DuePage, error) {
	if q.Shard == s.shard {
		return store.DuePage{}, enginetest.ErrInjected
	}
	return s.Store.Due(ctx, q)
}

func TestAShardThatCanNotBeReadIsToldAndTheOthersAreSwept(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	rig.Shards = 4
	p := rig.Start("one")
	lost(t, rig, p, 20)
	there := 20 - len(rig.Due(2))
	e := engine.New(engine.Config{Instance: "two", Store: deaf{rig.Memory, 2}, Workflows: rig.Catalog, Queues: rig.Queues, Shards: 4, Clock: rig.Clock.Now})
	report, err := supervisor.New(supervisor.Config{Engine: e}).Sweep(context.Background())
	if !errors.Is(err, enginetest.ErrInjected) || report.Acted != there {
		t.Errorf("acted on %d, %v; want %d and the fault", report.Acted, err, there)
	}
}
