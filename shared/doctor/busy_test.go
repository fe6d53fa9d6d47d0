package doctor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"triad/shared/doctor"
	"triad/shared/engine/enginetest"
	"triad/shared/task"
)

// TestABusyDeploymentReportsNothing drives orders through agents that fail, time
// out and are cancelled, with messages and writes lost, and examines after every
// round; at last all have ended.
func TestABusyDeploymentReportsNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		r := enginetest.New(t)
		r.Shards = 4
		rng := rand.New(rand.NewPCG(seed, 0))
		outcomes := []task.Outcome{task.Succeeded, task.Succeeded, task.FailedTransiently, task.FailedPermanently}
		r.Services.Answer = func(task.Request) task.Reply { return task.Reply{Outcome: outcomes[rng.IntN(len(outcomes))]} }
		ps := []*enginetest.Process{r.Start("one"), r.Start("two")}
		d := doctor.New(doctor.Config{Store: r.Memory, Walker: r.Memory, Workflows: r.Catalog, Agents: agents(), Shards: 4, Clock: r.Clock.Now})
		verbs := []task.Kind{task.CancelRequested, task.UndoRequested, task.Resubmitted, task.PauseRequested, task.ResumeRequested}
		for n := range 120 {
			p := ps[n%2]
			switch rng.IntN(8) {
			case 0:
				r.Hold = rng.IntN(3) == 0
				r.Submit(p, task.ID(fmt.Sprintf("o-%d", n)))
			case 1:
				r.Lose()
			case 2:
				_, _ = p.Engine.Act(t.Context(), task.ID(fmt.Sprintf("o-%d", rng.IntN(n+1))),
					task.Event{Kind: verbs[rng.IntN(len(verbs))], Unsourced: true}) // many don't fit
			case 3:
				r.Clock.Advance(time.Duration(rng.IntN(60)) * time.Second)
				if _, err := p.Supervisor.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
			default:
				r.Deliver(p)
			}
			if report := examine(t, d, doctor.Options{Full: n%2 == 0}); !report.Healthy() {
				t.Fatalf("seed %d, round %d:\n%s", seed, n, lines(report))
			}
		}
	}
}

// TestItMayRunBesideEngines has tasks move in other goroutines, over a real
// file, while full examinations go on.
func TestItMayRunBesideEngines(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.config.Lag = time.Second // between its file and its memory, at most
	working, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for n := 0; working.Err() == nil && n < 10; n++ {
				id := task.ID(fmt.Sprintf("o-%d-%d", worker, n))
				if _, err := d.process.Submission.Submit(context.Background(), enginetest.Submission(id)); err != nil {
					t.Error(err)
					return
				}
				for _, step := range []string{"reserve", "charge", "pack"} {
					if err := answer(d, id, step); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	go func() { all.Wait(); stop() }()
	for n := 0; working.Err() == nil || n < 3; n++ {
		if r := d.examine(doctor.Options{Full: n%2 == 0}); !r.Healthy() {
			t.Errorf("examination %d:\n%s", n, lines(r))
		}
	}
}

// answer has a live step succeed.
func answer(d *deployment, id task.ID, step string) error {
	now, err := d.store.Load(context.Background(), id)
	if err != nil {
		return err
	}
	s, _ := now.Step(step)
	_, err = d.process.Engine.Apply(context.Background(), id, task.Event{
		Kind: task.Replied, Step: step, Attempt: s.Attempt, LockedBy: s.LockedBy, Outcome: task.Succeeded})
	return err
}
