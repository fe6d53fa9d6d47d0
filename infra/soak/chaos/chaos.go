// Package chaos is a soak: real processes work on orders that come all the time,
// while they are killed and frozen and the services behind them fail, by a plan;
// then the faults end, and package audit judges what came of each order.
//
// There are two forms: the embedded engine, as one process on a file, and the
// functions, as they run in the local cloud. The soak does to them what an
// operating system may do at any moment, and nothing else: no switch in the
// engine makes it fail.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"triad/infra/soak/audit"
	"triad/infra/soak/plan"
	"triad/shared/remote"
	"triad/shared/task"
)

// Config says what to do. All but Keep is required.
type Config struct {
	// Seed decides the plan.
	Seed uint64
	// Length is how long orders come and faults happen.
	Length time.Duration
	// Rate is how many orders come in a second.
	Rate float64
	// Freeze is the longest freeze.
	Freeze time.Duration
	// Keep: leave behind what there is to look at, also when nothing is wrong.
	Keep bool
	// Out gets progress, line by line.
	Out io.Writer
}

// Form is what is soaked. Only Submit is called concurrently, with itself and
// with everything else.
type Form interface {
	// Name is "embedded" or "cloud".
	Name() string
	// Answers: Submit has an answer, and so does what is asked of a task.
	Answers() bool
	// Start brings everything up.
	Start(ctx context.Context) error
	// Services are those that the agents call.
	Services() remote.Client
	// Submit submits an order until it is accepted, and does with it what its
	// kind says. again is how many submissions were found accepted already. What
	// must not happen is a *Fault.
	Submit(ctx context.Context, o plan.One) (again int, err error)
	// Kill kills a process with kill -9, and Freeze stops one until thaw. n is
	// how many were hit: there may be none at the moment.
	Kill(ctx context.Context, pick uint64) (n int, err error)
	Freeze(ctx context.Context, pick uint64) (n int, thaw func(), err error)
	// Calm has everything run that should, once the faults have ended. kills is
	// how many processes it killed for that.
	Calm(ctx context.Context) (kills int, err error)
	// Delay is what this form adds to the time that a task takes.
	Delay() time.Duration
	// Unfinished counts the orders that have not ended, or of whose end not all
	// was told.
	Unfinished(ctx context.Context, accepted []audit.Order) (int, error)
	// Evidence collects all but the orders, the effects and what is unreadable.
	Evidence(ctx context.Context, accepted []audit.Order) (audit.Evidence, error)
	// Examine has the doctor look at everything.
	Examine(ctx context.Context) ([]audit.Violation, error)
	// Count fills in what only this form knows.
	Count(r *Report)
	// Stop ends everything, and removes what it left unless that is to be kept
	// for looking at it.
	Stop(ctx context.Context, keep bool) error
}

// Fault is an error that is a violation: the soak goes on.
type Fault struct{ audit.Violation }

// Error says what is wrong.
func (f *Fault) Error() string { return f.ID + ": " + f.What }

// fault makes one.
func fault(rule audit.Rule, id, format string, args ...any) error {
	return &Fault{audit.Violation{Rule: rule, ID: id, What: fmt.Sprintf(format, args...)}}
}

// Run soaks. The error says what kept it from coming to a judgement; violations
// are in the report.
func Run(ctx context.Context, c Config, f Form) (report *Report, err error) {
	s := &soak{Config: c, form: f, report: &Report{Form: f.Name(), Seed: c.Seed, Ended: map[task.State]int{}}}
	defer func() {
		wrong := report == nil || err != nil || len(report.Violations) > 0
		err = errors.Join(err, f.Stop(context.WithoutCancel(ctx), wrong && ctx.Err() == nil || c.Keep))
	}()
	if err := f.Start(ctx); err != nil {
		return nil, fmt.Errorf("starting: %w", err)
	}
	if err := s.rage(ctx); err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	return s.report, s.audit(ctx)
}

// soak is one run.
type soak struct {
	Config
	form    Form
	started time.Time

	mu       sync.Mutex
	report   *Report
	accepted []plan.One // and those whose submission was a fault
	found    []audit.Violation
}

// count changes the report.
func (s *soak) count(change func(*Report)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.report)
}

// note keeps a fault for the audit, and returns any other error.
func (s *soak) note(err error) error {
	var f *Fault
	if !errors.As(err, &f) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, f.Violation)
	s.say("VIOLATION: %s: %s", f.Rule, f.Error())
	return nil
}

// say prints a line of progress.
func (s *soak) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Out, "%6.1f s  %s\n", time.Since(s.started).Seconds(), fmt.Sprintf(format, args...))
}

// orders are what was accepted and is to become a task.
func (s *soak) orders() (all []audit.Order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.accepted {
		if !o.Kind.Unreadable {
			all = append(all, o.Order)
		}
	}
	return all
}

// settle waits until every order has ended, for as long as that may take.
func (s *soak) settle(ctx context.Context) error {
	began := time.Now()
	kills, err := s.form.Calm(ctx)
	s.count(func(r *Report) { r.Kills += kills })
	if err := s.note(err); err != nil {
		return fmt.Errorf("bringing everything up again: %w", err)
	}
	longest, err := plan.Bound()
	if err != nil {
		return err
	}
	orders := s.orders()
	left, err := s.form.Unfinished(ctx, orders)
	if err != nil {
		return err
	}
	// What waits is worked off at least as fast as it came.
	bound := longest + s.form.Delay() + time.Duration(float64(left)/s.Rate*float64(time.Second))
	s.say("faults ended; %d of %d orders have not ended, and have %v", left, len(orders), bound.Round(time.Second))
	for again := time.Tick(lookEvery); left > 0 && time.Since(began) < bound; {
		select {
		case <-again:
		case <-ctx.Done():
			return ctx.Err()
		}
		if left, err = s.form.Unfinished(ctx, orders); err != nil {
			return err
		}
	}
	s.say("%d have not ended", left)
	s.report.Bound, s.report.Settled = bound.Seconds(), time.Since(began).Seconds()
	return nil
}

// lookEvery is how often the store is asked whether all has ended.
const lookEvery = time.Second

// audit collects the evidence, has it judged and fills in the report.
func (s *soak) audit(ctx context.Context) error {
	orders := s.orders()
	e, err := s.form.Evidence(ctx, orders)
	if err != nil {
		return fmt.Errorf("collecting the evidence: %w", err)
	}
	e.Orders = orders
	for _, o := range s.accepted {
		if o.Kind.Unreadable {
			body, err := o.Body()
			if err != nil {
				return err
			}
			e.Unreadable = append(e.Unreadable, string(body))
		}
	}
	e.Effects = map[string][]remote.Effect{}
	for _, service := range plan.Services() {
		if e.Effects[service], err = s.form.Services().Effects(ctx, service); err != nil {
			return err
		}
	}
	summary, err := s.form.Services().Summary(ctx)
	if err != nil {
		return err
	}
	examined, err := s.form.Examine(ctx)
	if err != nil {
		return fmt.Errorf("examining: %w", err)
	}
	s.form.Count(s.report)
	s.report.conclude(e, summary)
	s.report.Seconds = time.Since(s.started).Seconds()
	s.report.Violations = slices.Concat([]audit.Violation{}, s.found, audit.Judge(e), examined)
	return nil
}

// conclude sums up the evidence.
func (r *Report) conclude(e audit.Evidence, services map[string]remote.Summary) {
	for _, o := range e.Orders {
		r.Ended[e.Fates[o.ID].State]++
	}
	maps.DeleteFunc(r.Ended, func(state task.State, _ int) bool { return !state.Finished() })
	for _, s := range services {
		r.Effects += s.Effects
		r.Undone += s.Undone
		r.Calls += s.Calls
		r.CallsRepeated += s.Duplicates
	}
	r.Notices, r.Alerts, r.Rejected = len(e.Notices), len(e.Alerts), len(e.Rejected)
}
