package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"triad/shared/api"
	"triad/shared/api/client"
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

// outcome holds everything against the samples.
func (d *demo) outcome(ctx context.Context) (*Outcome, error) {
	o := &Outcome{
		Submitted: d.submitted.Load(), Again: d.again.Load(), Tasks: d.accepted.Load(),
		Expected: len(d.samples.Unreadable), Seconds: time.Since(d.started).Seconds(),
	}
	holds, err := d.effects(ctx, o)
	if err != nil {
		return nil, err
	}
	for i := range d.samples.Groups {
		g := &d.samples.Groups[i]
		o.Groups = append(o.Groups, GroupOutcome{Name: g.Name, About: g.About, Count: g.Count, Ends: g.Ends})
	}
	for _, order := range d.samples.Orders {
		if err := d.check(ctx, o, order, holds[string(order.ID)]); err != nil {
			return nil, err
		}
	}
	if err := d.told(ctx, o); err != nil {
		return nil, err
	}
	if len(o.Wrong) > 0 || len(o.Doubled) > 0 {
		return o, ErrUnexpected
	}
	return o, nil
}

// effects asks the services what they hold, by order.
func (d *demo) effects(ctx context.Context, o *Outcome) (map[string][]string, error) {
	holds := map[string][]string{}
	for _, service := range holders() {
		effects, err := d.services.Effects(ctx, service)
		if err != nil {
			return nil, err
		}
		for _, e := range effects {
			if e.Applied > 1 {
				o.Doubled = append(o.Doubled, service+"/"+e.ID)
			}
			if e.Stands() {
				holds[e.ID] = append(holds[e.ID], service)
			}
		}
	}
	var err error
	o.Services, err = d.services.Summary(ctx)
	return holds, err
}

// check holds one order against its sample.
func (d *demo) check(ctx context.Context, o *Outcome, order Order, holds []string) error {
	t, err := d.client.Task(ctx, order.ID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(o.Groups, func(g GroupOutcome) bool { return g.Name == order.Group.Name })
	g := &o.Groups[i]
	for _, s := range t.Steps {
		g.Attempts += s.Attempt
	}
	if t.EndedAt != 0 {
		g.Slowest = max(g.Slowest, float64(t.EndedAt-t.CreatedAt)/1000)
	}
	want := slices.Sorted(slices.Values(order.Group.Holds))
	slices.Sort(holds)
	switch {
	case t.State != order.Group.Ends:
		o.Wrong = append(o.Wrong, fmt.Sprintf("%s is %s and must be %s: %s", t.ID, t.State, order.Group.Ends, t.Reason))
	case !slices.Equal(holds, want):
		o.Wrong = append(o.Wrong, fmt.Sprintf("%s has effects at %v and must have them at %v", t.ID, holds, want))
	default:
		g.AsExpected++
	}
	return nil
}

// told collects what operators and applications were told.
func (d *demo) told(ctx context.Context, o *Outcome) error {
	alerts, err := d.client.Alerts(ctx, 0, 100)
	if err != nil {
		return err
	}
	o.Alerts = alerts.Alerts
	failed := 0
	for _, order := range d.samples.Orders {
		if order.Group.Ends == task.Error {
			failed++
		}
	}
	if len(o.Alerts) != failed {
		o.Wrong = append(o.Wrong, fmt.Sprintf("there are %d alerts and must be %d: one for each order in Error", len(o.Alerts), failed))
	}
	rejected, err := d.client.Rejected(ctx, 0, 100)
	if err != nil {
		return err
	}
	o.Rejected = rejected.Rejected
	if len(o.Rejected) != o.Expected {
		o.Wrong = append(o.Wrong, fmt.Sprintf("there are %d rejected messages and must be %d", len(o.Rejected), o.Expected))
	}
	return d.notices(ctx, o)
}

// notices counts them: each order that named a response queue was told twice,
// that it was received and how it ended.
func (d *demo) notices(ctx context.Context, o *Outcome) error {
	want := map[string]int{}
	for _, order := range d.samples.Orders {
		if order.ResponseQueue != "" {
			want[order.ResponseQueue] += 2
		}
	}
	for name, n := range want {
		got, err := countNotices(ctx, d.client, name)
		if err != nil {
			return err
		}
		if o.Notices += got; got != n {
			o.Wrong = append(o.Wrong, fmt.Sprintf("response queue %s has %d notices and must have %d", name, got, n))
		}
	}
	return nil
}

func countNotices(ctx context.Context, c *client.Client, queue string) (n int, err error) {
	for after := int64(0); ; {
		page, err := c.Notices(ctx, queue, after, 1000, 0)
		if err != nil {
			return 0, fmt.Errorf("reading the notices of %s: %w", queue, err)
		}
		n += len(page.Notices)
		if after = page.Next; page.Next == 0 {
			return n, nil
		}
	}
}
