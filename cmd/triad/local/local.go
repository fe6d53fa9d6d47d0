// Package local runs everything on this machine: the embedded engine on one
// file, the HTTP agents of a workflows directory, the HTTP API and the metrics.
// `triad dev` and `triad demo` are this package with a command line around it.
package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/shared/agent"
	"triad/shared/agent/httpagent"
	"triad/shared/api"
	"triad/shared/catalog"
	"triad/shared/doctor"
	"triad/shared/embedded"
	"triad/shared/store/record"
	"triad/shared/store/sqlitestore"
	"triad/shared/task"
	"triad/shared/telemetry"
)

// Config says what to run.
type Config struct {
	// Data is the file of the store; its directory is made if need be.
	Data string
	// Listen is the address of the HTTP API. The API knows no users: anything
	// but a loopback address lets everyone who reaches it in.
	Listen string
	// Workflows is the directory of definitions, with agents.yaml.
	Workflows fs.FS
	// Lookup finds settings that agents.yaml names.
	Lookup func(string) (string, bool)
	// MaxUnfinished is how many unfinished tasks are taken on. Zero is the
	// engine's default.
	MaxUnfinished int
	// Sweep is the Supervisor's period. Zero is the engine's default.
	Sweep time.Duration
	// Logger gets what operators should know.
	Logger *slog.Logger
}

// Local is a running engine with its API.
type Local struct {
	// URL is where the API listens.
	URL    string
	Engine *embedded.Engine

	config   Config
	store    *sqlitestore.Store
	agents   []*httpagent.Agent
	server   *http.Server
	listener net.Listener
}

// retryAfter is how long a caller should wait when the engine is full.
const retryAfter = 5 * time.Second

// Open opens the file, reads the definitions and listens. Nothing runs before
// Run. The error says what to do; nothing was damaged.
func Open(ctx context.Context, c Config) (*Local, error) {
	l := &Local{config: c}
	if err := l.open(ctx); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *Local) open(ctx context.Context) error {
	described, err := httpagent.Load(l.config.Workflows, l.config.Lookup)
	offers, faults := catalog.Load(l.config.Workflows, slices.Sorted(maps.Keys(described)))
	if err := errors.Join(err, faults); err != nil {
		return fmt.Errorf("reading the workflows: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(l.config.Data), 0o755); err != nil {
		return fmt.Errorf("making the directory of the data file: %w", err)
	}
	if l.store, err = sqlitestore.Open(ctx, l.config.Data, sqlitestore.Config{}); err != nil {
		return err
	}
	if err := offers.Keep(ctx, l.store); err != nil {
		return err
	}
	if err := l.engine(ctx, offers, described); err != nil {
		return err
	}
	if l.listener, err = net.Listen("tcp", l.config.Listen); err != nil {
		return fmt.Errorf("listening for the HTTP API: %w: choose another address with --listen", err)
	}
	l.URL = "http://" + l.listener.Addr().String()
	return nil
}

func (l *Local) engine(ctx context.Context, offers *catalog.Catalog, described map[string]httpagent.Config) error {
	unfinished, err := l.store.Count(ctx)
	if err != nil {
		return fmt.Errorf("counting the unfinished tasks: %w", err)
	}
	metrics := telemetry.New()
	agents, err := l.httpAgents(described)
	if err != nil {
		return err
	}
	l.Engine, err = embedded.New(embedded.Config{
		Store: l.store, Ledger: l.store, Definitions: offers, Agents: agents,
		Unfinished: unfinished, MaxUnfinished: l.config.MaxUnfinished, Sweep: l.config.Sweep,
		Observer: metrics, Swept: metrics.Swept, Logger: l.config.Logger,
		Doctor: l.doctor(), Examined: metrics.Examined,
	})
	if err != nil {
		return err
	}
	metrics.Watch(telemetry.Sources{
		Unfinished: l.Engine.Unfinished, Depths: l.Engine.Depths, Agents: l.Engine.Agents,
		Rejected: func() (int, error) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			return l.store.CountRejected(ctx)
		},
		Commits: func() uint64 { return uint64(l.store.Stats().Commits) },
		Groups:  func() uint64 { return uint64(l.store.Stats().Groups) },
	})
	l.server = &http.Server{
		Handler:           l.api(offers, metrics),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
	}
	return nil
}

// doctor gives the doctor its way to the store's file.
func (l *Local) doctor() doctor.Config {
	return doctor.Config{
		Walker: l.store, Integrity: l.store.Check,
		DeadLetters: func(ctx context.Context) (map[string]int, error) {
			n, err := l.store.CountRejected(ctx)
			return map[string]int{"rejected": n}, err
		},
		Size:    func(t task.Task) (int, error) { return len(record.Append(nil, t)), nil },
		MaxSize: record.MaxSize,
	}
}

func (l *Local) httpAgents(described map[string]httpagent.Config) (map[string]embedded.Agent, error) {
	made := map[string]embedded.Agent{}
	for name, c := range described {
		c.Logger, c.Counters = l.config.Logger, &agent.Counters{}
		a, err := httpagent.New(c)
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", name, err)
		}
		l.agents = append(l.agents, a)
		made[name] = embedded.Agent{Work: a.Call, Retry: c.Retry, Concurrency: c.Concurrency, Counters: c.Counters}
	}
	return made, nil
}

func (l *Local) api(offers *catalog.Catalog, metrics *telemetry.Metrics) http.Handler {
	return api.New(api.Config{
		Submit: l.Engine.Submission, Operate: l.Engine.Operator, Store: l.store, Ledger: l.store,
		Workflows: offers.Workflows,
		Metrics:   metrics.Handler(), Ready: l.Engine.Ready, Logger: l.config.Logger,
		Doctor: l.Engine.Doctor, Findings: l.Engine.Findings,
		Full: func() (time.Duration, bool) { return retryAfter, l.Engine.Full() },
	})
}

// Run serves and works until ctx ends, then stops gracefully: no new requests,
// what is being handled comes to its end, the file is closed.
func (l *Local) Run(ctx context.Context) error {
	defer l.close()
	g, working := errgroup.WithContext(ctx)
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.server.BaseContext = func(net.Listener) context.Context { return requests }
	g.Go(func() error {
		if err := l.server.Serve(l.listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving the HTTP API: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		<-working.Done()
		cancel() // ends long polls
		return l.shutdown(context.WithoutCancel(ctx))
	})
	g.Go(func() error { return l.Engine.Run(working) })
	return g.Wait()
}

// shutdown lets requests under way come to their end for a moment. A connection
// that was opened and never used counts as under way.
func (l *Local) shutdown(ctx context.Context) error {
	grace, done := context.WithTimeout(ctx, 2*time.Second)
	defer done()
	if err := l.server.Shutdown(grace); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return l.server.Close()
}

// close lets go of everything that was opened.
func (l *Local) close() {
	if l.listener != nil {
		_ = l.listener.Close() // closed already when Run has served
	}
	for _, a := range l.agents {
		a.Close()
	}
	if l.store == nil {
		return
	}
	if err := l.store.Close(); err != nil {
		l.config.Logger.Error("closing the store", "error", err)
	}
}
