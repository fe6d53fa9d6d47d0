package chaos

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/infra/soak/plan"
	"triad/shared/remote"
)

// waiting is how many submissions may wait for an answer at once, and sayEvery
// how often progress is told.
const (
	waiting  = 200
	sayEvery = 5 * time.Second
)

// rage has orders come and faults happen for as long as the soak is. It returns
// when all that was submitted has been accepted and no fault is on any more.
func (s *soak) rage(ctx context.Context) error {
	s.started = time.Now()
	for _, service := range plan.Services() {
		if err := s.behave(ctx, service, nil); err != nil {
			return err
		}
	}
	acts := plan.Schedule(s.Seed, plan.Limits{Length: s.Length, Freeze: s.Freeze})
	g, together := errgroup.WithContext(ctx)
	g.Go(func() error { return s.submit(together) })
	g.Go(func() error {
		return s.follow(together, acts, func(a plan.Act) bool { return a.Verb != plan.Fault })
	})
	for _, service := range plan.Services() {
		g.Go(func() error {
			return s.follow(together, acts, func(a plan.Act) bool { return a.Verb == plan.Fault && a.Service == service })
		})
	}
	done, stop := context.WithCancel(ctx)
	go s.tell(done)
	defer stop()
	return g.Wait()
}

// follow does those acts that fit, one after the other. One that is late, as the
// one before took longer, comes at once.
func (s *soak) follow(ctx context.Context, acts []plan.Act, fits func(plan.Act) bool) error {
	for _, a := range acts {
		if !fits(a) {
			continue
		}
		if err := pause(ctx, a.At-time.Since(s.started)); err != nil {
			return err
		}
		if err := s.note(s.do(ctx, a)); err != nil {
			return err
		}
	}
	return nil
}

// do does one act, from its beginning to its end.
func (s *soak) do(ctx context.Context, a plan.Act) error {
	switch a.Verb {
	case plan.Kill:
		n, err := s.form.Kill(ctx, a.Pick)
		s.count(func(r *Report) { r.Kills += n })
		return err
	case plan.Freeze:
		n, thaw, err := s.form.Freeze(ctx, a.Pick)
		if err != nil || n == 0 {
			return err
		}
		defer thaw()
		began := time.Now()
		err = pause(ctx, a.For)
		s.count(func(r *Report) { r.Freezes += n; r.Frozen += time.Since(began).Seconds() })
		return err
	}
	s.count(func(r *Report) { r.Faults++ })
	if err := s.behave(ctx, a.Service, a.Rules); err != nil {
		return err
	}
	if err := pause(ctx, a.For); err != nil {
		return err
	}
	return s.behave(ctx, a.Service, nil)
}

// behave sets the faults of a service: those that are always on, and others.
func (s *soak) behave(ctx context.Context, service string, more []remote.Rule) error {
	return s.form.Services().SetFaults(ctx, service, remote.Faults{Rules: append(plan.Always(service), more...)})
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// submit has orders come at the rate, and returns when each was accepted.
func (s *soak) submit(ctx context.Context) error {
	orders := plan.NewOrders(s.Seed, s.form.Answers())
	g, together := errgroup.WithContext(ctx)
	g.SetLimit(waiting)
	for tick := time.Tick(time.Duration(float64(time.Second) / s.Rate)); time.Since(s.started) < s.Length && together.Err() == nil; <-tick {
		o := orders.Next()
		g.Go(func() error {
			again, err := s.form.Submit(together, o)
			if err := s.note(err); err != nil {
				return err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.accepted = append(s.accepted, o)
			s.report.Submitted++
			s.report.Again += again
			return nil
		})
	}
	return g.Wait()
}

// tell prints a line every few seconds.
func (s *soak) tell(ctx context.Context) {
	for tick := time.Tick(sayEvery); ; {
		select {
		case <-tick:
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		r := s.report
		s.say("%5d submitted, %4d again, %3d kills, %3d freezes (%.0f s), %3d faults of services, %d violations",
			r.Submitted, r.Again, r.Kills, r.Freezes, r.Frozen, r.Faults, len(s.found))
		s.mu.Unlock()
	}
}
