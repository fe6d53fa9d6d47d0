// Package demo is the main job, to be watched: real orders go through the sample
// workflows against remote services that fail, hang and refuse, over HTTP, on a
// fresh store; and every order is held against the end its sample demands.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/cmd/triad/local"
	"triad/shared/api/client"
	"triad/shared/queue"
	"triad/shared/remote"
	"triad/shared/store/sqlitestore"
)

// Config says what to show.
type Config struct {
	// Data is the file of the store. It is made anew.
	Data string
	// Listen is the address of the HTTP API.
	Listen string
	// Workflows is the directory of definitions.
	Workflows fs.FS
	// Samples is the text of events/samples.yaml.
	Samples []byte
	// Out gets the progress and the summary.
	Out io.Writer
	// Live redraws one line; otherwise plain lines are printed.
	Live bool
	// Pace is the time from one submission to the next.
	Pace time.Duration
	// Limit is how long the orders may take.
	Limit time.Duration
	// Logger gets what the engine logs.
	Logger *slog.Logger
}

// ErrUnexpected: an order did not end as its sample says.
var ErrUnexpected = errors.New("not every order ended as its sample says it must")

// Run shows the job. ErrUnexpected tells that it did not go as it must.
func Run(ctx context.Context, c Config) (*Outcome, error) {
	samples, err := Parse(c.Samples)
	if err != nil {
		return nil, err
	}
	if err := clear(ctx, c.Data); err != nil {
		return nil, fmt.Errorf("making a fresh store: %w", err)
	}
	d := &demo{Config: c, samples: samples}
	return d.run(ctx)
}

// clear removes the store of an earlier run. What is not a store, or is in use,
// is left alone, and that is an error.
func clear(ctx context.Context, path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s, err := sqlitestore.Open(ctx, path, sqlitestore.Config{})
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return os.Remove(path) // a store that was closed has no other files but its lock
}

// demo is one run.
type demo struct {
	Config
	samples   *Samples
	services  remote.Client
	client    *client.Client
	submitted atomic.Int64
	accepted  atomic.Int64
	again     atomic.Int64
	started   time.Time
}

func (d *demo) run(ctx context.Context) (*Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g errgroup.Group
	if err := d.serve(ctx, &g); err != nil {
		return nil, err
	}
	engine, err := d.engine(ctx)
	if err != nil {
		return nil, err
	}
	g.Go(func() error { return engine.Run(ctx) })
	if d.client, err = client.New(client.Config{URL: engine.URL}); err != nil {
		return nil, err
	}
	outcome, err := d.watch(ctx)
	cancel()
	return outcome, errors.Join(err, g.Wait())
}

// serve starts the remote services, faults on.
func (d *demo) serve(ctx context.Context, g *errgroup.Group) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening for the remote services: %w", err)
	}
	d.services.BaseURL = "http://" + l.Addr().String()
	services := remote.New(remote.Config{Logger: d.Logger})
	g.Go(func() error { return services.ServeOn(ctx, l) })
	for name, faults := range d.samples.Faults {
		if err := d.services.SetFaults(ctx, name, faults); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) engine(ctx context.Context) (*local.Local, error) {
	return local.Open(ctx, local.Config{
		Data: d.Data, Listen: d.Listen, Workflows: d.Workflows, Logger: d.Logger,
		Lookup: func(name string) (string, bool) {
			if name == "SERVICES_URL" {
				return d.services.BaseURL, true
			}
			return "", false
		},
	})
}

// watch submits, shows progress until every order has ended, and draws up the
// outcome.
func (d *demo) watch(ctx context.Context) (*Outcome, error) {
	d.started = time.Now()
	limited, cancel := context.WithTimeout(ctx, d.Limit)
	defer cancel()
	g, submitting := errgroup.WithContext(limited)
	g.Go(func() error { return d.submit(submitting) })
	p := &progress{demo: d}
	g.Go(func() error { return p.follow(submitting) })
	if err := g.Wait(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return d.outcome(ctx)
}

// submit sends every order, at the pace, and the unreadable messages among
// them.
func (d *demo) submit(ctx context.Context) error {
	var g errgroup.Group
	pace := time.NewTicker(d.Pace)
	defer pace.Stop()
	for i, o := range d.samples.Mixed() {
		if i%20 == 0 && i/20 < len(d.samples.Unreadable) {
			if err := d.client.Enqueue(ctx, []byte(d.samples.Unreadable[i/20])); err != nil {
				return err
			}
		}
		body, err := queue.Encode(o.Submission)
		if err != nil {
			return fmt.Errorf("encoding order %s: %w", o.ID, err)
		}
		for range o.Group.Repeat {
			g.Go(func() error { return d.submitOne(ctx, body) })
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), g.Wait())
		}
	}
	return g.Wait()
}

func (d *demo) submitOne(ctx context.Context, body []byte) error {
	_, already, err := d.client.Submit(ctx, body)
	if err != nil {
		return err
	}
	d.submitted.Add(1)
	if already {
		d.again.Add(1)
	} else {
		d.accepted.Add(1)
	}
	return nil
}

// outcome holds everything against the samples.
func (d *demo) outcome(ctx context.Context) (*Outcome, error) {
	o, err := Judge(ctx, d.samples, d.services, world{d.client})
	if o != nil {
		o.Submitted, o.Again, o.Tasks = d.submitted.Load(), d.again.Load(), d.accepted.Load()
		o.Seconds = time.Since(d.started).Seconds()
	}
	return o, err
}
