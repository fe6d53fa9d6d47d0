package orders

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/cmd/triad/demo"
	"triad/infra/local/cloud"
	"triad/shared/queue"
	"triad/shared/remote"
	"triad/shared/task"
)

// Config says what to show. All of it is required.
type Config struct {
	Cloud *cloud.Cloud
	// Samples is the text of samples as events/samples.yaml.
	Samples string
	// Limit is how long the orders may take.
	Limit time.Duration
	// Out gets progress, line by line.
	Out io.Writer
}

// lookEvery is how often the table is looked at, and sayEvery how often a line is
// printed at most.
const (
	lookEvery = time.Second
	sayEvery  = 3 * time.Second
)

// Show enqueues the samples, faults on, and follows every order to its end.
// demo.ErrUnexpected tells that it did not go as it must; Outcome says how.
//
// It may be repeated: the ids of a run are its own.
func Show(ctx context.Context, c Config) (*demo.Outcome, error) {
	samples, err := demo.Parse([]byte(strings.ReplaceAll(c.Samples, "{n}", "{n}-"+strings.ToLower(rand.Text()[:4]))))
	if err != nil {
		return nil, err
	}
	s := &show{Config: c, samples: samples, services: remote.Client{BaseURL: c.Cloud.Services()}, started: time.Now()}
	ids := make([]task.ID, len(samples.Orders))
	for i, o := range samples.Orders {
		ids[i] = o.ID
	}
	if s.world, err = Open(ctx, c.Cloud, ids); err != nil {
		return nil, err
	}
	for name, faults := range samples.Faults {
		if err := s.services.SetFaults(ctx, name, faults); err != nil {
			return nil, err
		}
	}
	outcome, err := s.run(ctx)
	for name := range samples.Faults {
		err = errors.Join(err, s.services.ClearFaults(context.WithoutCancel(ctx), name))
	}
	return outcome, err
}

// show is one run.
type show struct {
	Config
	samples  *demo.Samples
	services remote.Client
	world    *World
	started  time.Time
	sent     atomic.Int64
}

func (s *show) run(ctx context.Context) (*demo.Outcome, error) {
	bodies, again, err := s.bodies()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, s.Limit)
	defer cancel()
	g, together := errgroup.WithContext(limited)
	g.Go(func() error { return Tick(together, s.Cloud) }) // the schedule's first may be a minute away
	g.Go(func() error {
		return Enqueue(together, s.Cloud, queue.Submissions, bodies, func(n int) { s.sent.Add(int64(n)) })
	})
	g.Go(func() error { return s.follow(together, len(bodies)) })
	if err := g.Wait(); err != nil && (limited.Err() == nil || ctx.Err() != nil) {
		return nil, err
	}
	// When time is up, the outcome says what has not ended.
	o, err := demo.Judge(ctx, s.samples, s.services, s.world)
	if o != nil {
		o.Submitted, o.Again, o.Tasks = int64(len(bodies)-len(s.samples.Unreadable)), int64(again), int64(len(s.samples.Orders))
		o.Seconds = time.Since(s.started).Seconds()
	}
	return o, err
}

// bodies are the messages to send, the unreadable ones among them.
func (s *show) bodies() (all []string, again int, err error) {
	for i, o := range s.samples.Mixed() {
		if i%20 == 0 && i/20 < len(s.samples.Unreadable) {
			all = append(all, s.samples.Unreadable[i/20])
		}
		body, err := queue.Encode(o.Submission)
		if err != nil {
			return nil, 0, fmt.Errorf("encoding order %s: %w", o.ID, err)
		}
		for range o.Group.Repeat {
			all = append(all, string(body))
		}
		again += o.Group.Repeat - 1
	}
	return all, again, nil
}

// follow shows progress until every order has ended, and nothing is left in the
// queues of what was submitted.
func (s *show) follow(ctx context.Context, submissions int) error {
	said := time.Time{}
	for look := time.Tick(lookEvery); ; {
		states, err := s.world.States(ctx)
		if err != nil {
			return err
		}
		ended := 0
		for _, state := range states {
			if state.Finished() {
				ended++
			}
		}
		done := ended == len(s.samples.Orders) && int(s.sent.Load()) == submissions
		if done || time.Since(said) >= sayEvery {
			said = time.Now()
			_, _ = fmt.Fprintf(s.Out, "%4.0f s  %3d of %d messages enqueued, %3d tasks, %3d of %d orders have ended\n",
				time.Since(s.started).Seconds(), s.sent.Load(), submissions, len(states), ended, len(s.samples.Orders))
		}
		if done {
			return s.settled(ctx)
		}
		select {
		case <-look:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// settled returns once nothing is on its way any more: copies of submissions,
// late replies, and the notices and alerts of the last orders.
func (s *show) settled(ctx context.Context) error {
	for look := time.Tick(lookEvery); ; {
		depths, err := s.Cloud.Queues(ctx)
		if err != nil {
			return err
		}
		left := 0
		for _, d := range depths {
			if strings.HasSuffix(d.Name, "-"+queue.Submissions) || strings.HasSuffix(d.Name, "-"+queue.Scheduler) || strings.Contains(d.Name, "-agent-") {
				left += d.Total()
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case <-look:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
