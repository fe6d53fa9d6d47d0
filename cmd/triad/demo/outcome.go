package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"triad/shared/api"
	"triad/shared/remote"
	"triad/shared/task"
)

// Outcome is what came of the orders.
type Outcome struct {
	Groups    []GroupOutcome            `json:"groups"`
	Services  map[string]remote.Summary `json:"services"`
	Submitted int64                     `json:"submitted"`
	// Again is how many submissions had been accepted before.
	Again int64 `json:"again"`
	Tasks int64 `json:"tasks"`
	// Doubled lists effects that were applied more than once: there must be
	// none.
	Doubled  []string       `json:"doubled,omitempty"`
	Alerts   []api.Alert    `json:"alerts"`
	Rejected []api.Rejected `json:"rejected"`
	Expected int            `json:"expected_rejected"`
	Notices  int            `json:"notices"`
	// Wrong says, order by order, what is not as it must be.
	Wrong   []string `json:"wrong,omitempty"`
	Seconds float64  `json:"seconds"`
}

// GroupOutcome is what came of one sample.
type GroupOutcome struct {
	Name  string     `json:"name"`
	About string     `json:"about"`
	Count int        `json:"count"`
	Ends  task.State `json:"ends"`
	// AsExpected is how many orders ended as they must, effects included.
	AsExpected int `json:"as_expected"`
	// Attempts is the sum of the attempts of all steps, undo included.
	Attempts int `json:"attempts"`
	// Slowest is the longest time an order took, seconds.
	Slowest float64 `json:"slowest_s"`
}

// World is where the orders went, as Judge looks at it.
type World interface {
	// Fate is how an order fares.
	Fate(ctx context.Context, id task.ID) (Fate, error)
	// Alerts are what operators were told.
	Alerts(ctx context.Context) ([]api.Alert, error)
	// Rejected are the messages that were captured.
	Rejected(ctx context.Context) ([]api.Rejected, error)
	// Notices is how many different notices a response queue got.
	Notices(ctx context.Context, queue string) (int, error)
}

// Fate is what became of an order.
type Fate struct {
	State task.State
	// Reason says why, when it failed.
	Reason string
	// Attempts is the sum of the attempts of all steps.
	Attempts int
	// Took is the time from its creation to its end; 0 when it has not ended.
	Took time.Duration
}

// Judge holds every order against its sample: its end, its effects at the
// services, and what operators and applications were told. The error is
// ErrUnexpected when something is otherwise; Outcome.Wrong then says what. The
// caller knows, and fills in, what was submitted and how long it took.
func Judge(ctx context.Context, s *Samples, services remote.Client, w World) (*Outcome, error) {
	j := &judge{samples: s, services: services, world: w, o: &Outcome{Expected: len(s.Unreadable)}}
	holds, err := j.effects(ctx)
	if err != nil {
		return nil, err
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		j.o.Groups = append(j.o.Groups, GroupOutcome{Name: g.Name, About: g.About, Count: g.Count, Ends: g.Ends})
	}
	for _, order := range s.Orders {
		if err := j.check(ctx, order, holds[string(order.ID)]); err != nil {
			return nil, err
		}
	}
	if err := j.told(ctx); err != nil {
		return nil, err
	}
	if len(j.o.Wrong) > 0 || len(j.o.Doubled) > 0 {
		return j.o, ErrUnexpected
	}
	return j.o, nil
}

// judge draws up an outcome.
type judge struct {
	samples  *Samples
	services remote.Client
	world    World
	o        *Outcome
}

// wrong notes what is not as it must be.
func (j *judge) wrong(format string, args ...any) {
	j.o.Wrong = append(j.o.Wrong, fmt.Sprintf(format, args...))
}

// effects asks the services what they hold, by order. They may hold effects of
// others.
func (j *judge) effects(ctx context.Context) (map[string][]string, error) {
	holds := map[string][]string{}
	for _, order := range j.samples.Orders {
		holds[string(order.ID)] = nil
	}
	for _, service := range holders() {
		effects, err := j.services.Effects(ctx, service)
		if err != nil {
			return nil, err
		}
		for _, e := range effects {
			if _, ours := holds[e.ID]; !ours {
				continue
			}
			if e.Applied > 1 {
				j.o.Doubled = append(j.o.Doubled, service+"/"+e.ID)
			}
			if e.Stands() {
				holds[e.ID] = append(holds[e.ID], service)
			}
		}
	}
	var err error
	j.o.Services, err = j.services.Summary(ctx)
	return holds, err
}

// check holds one order against its sample.
func (j *judge) check(ctx context.Context, order Order, holds []string) error {
	fate, err := j.world.Fate(ctx, order.ID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(j.o.Groups, func(g GroupOutcome) bool { return g.Name == order.Group.Name })
	g := &j.o.Groups[i]
	g.Attempts += fate.Attempts
	g.Slowest = max(g.Slowest, fate.Took.Seconds())
	want := slices.Sorted(slices.Values(order.Group.Holds))
	slices.Sort(holds)
	switch {
	case fate.State != order.Group.Ends:
		j.wrong("%s is %s and must be %s: %s", order.ID, fate.State, order.Group.Ends, fate.Reason)
	case !slices.Equal(holds, want):
		j.wrong("%s has effects at %v and must have them at %v", order.ID, holds, want)
	default:
		g.AsExpected++
	}
	return nil
}

// told collects what operators and applications were told: an alert for each
// order in Error, and two notices for each that named a response queue, that it
// was received and how it ended.
func (j *judge) told(ctx context.Context) (err error) {
	if j.o.Alerts, err = j.world.Alerts(ctx); err != nil {
		return err
	}
	if j.o.Rejected, err = j.world.Rejected(ctx); err != nil {
		return err
	}
	failed, notices := 0, map[string]int{}
	for _, order := range j.samples.Orders {
		if order.Group.Ends == task.Error {
			failed++
		}
		if order.ResponseQueue != "" {
			notices[order.ResponseQueue] += 2
		}
	}
	if len(j.o.Alerts) != failed {
		j.wrong("there are %d alerts and must be %d: one for each order in Error", len(j.o.Alerts), failed)
	}
	if len(j.o.Rejected) != j.o.Expected {
		j.wrong("there are %d rejected messages and must be %d", len(j.o.Rejected), j.o.Expected)
	}
	for name, want := range notices {
		got, err := j.world.Notices(ctx, name)
		if err != nil {
			return fmt.Errorf("reading the notices of %s: %w", name, err)
		}
		if j.o.Notices += got; got != want {
			j.wrong("response queue %s has %d notices and must have %d", name, got, want)
		}
	}
	return nil
}

// holders are the services that hold effects of orders: all but the one that is
// only asked.
func holders() []string {
	return slices.DeleteFunc(remote.Names(), func(n string) bool { return n == "accounts" })
}
