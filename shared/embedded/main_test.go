package embedded_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"triad/shared/catalog"
	"triad/shared/embedded"
	"triad/shared/engine/enginetest"
	"triad/shared/store/sqlitestore"
	"triad/shared/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come. Steps have an hour, so
// nothing that waits for a deadline comes within it.
const patience = 20 * time.Second

const definition = `
workflow: order
version: 1
completeWithin: 24h
steps:
  reserve: {agent: inventory, completeWithin: 1h}
  charge: {agent: payment, completeWithin: 1h}
  ship: {agent: shipping, completeWithin: 1h}
`

// urgent is a definition of high priority, of one step.
const urgent = `
workflow: urgent
version: 1
completeWithin: 24h
priority: high
steps:
  reserve: {agent: inventory, completeWithin: 1h}
`

// world is what is outside of the engine and outlives it: the services.
type world struct {
	mu       sync.Mutex
	requests []task.Request
	// calls hears of every request; it is never full.
	calls chan task.Request
	// gate holds back the calls it is asked for, until they may go on.
	gate func(task.Request) <-chan struct{}
}

func newWorld() *world { return &world{calls: make(chan task.Request, 1<<16)} }

func (w *world) work(ctx context.Context, r task.Request) (json.RawMessage, error) {
	w.mu.Lock()
	w.requests = append(w.requests, r)
	w.mu.Unlock()
	w.calls <- r
	if w.gate != nil {
		if held := w.gate(r); held != nil {
			select {
			case <-held:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	return json.RawMessage(`{"ok":true}`), nil
}

// seen returns the requests, in the order in which they came.
func (w *world) seen() []task.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]task.Request(nil), w.requests...)
}

// process is an engine over its own file, and what it tells.
type process struct {
	*embedded.Engine
	t     *testing.T
	path  string
	store *sqlitestore.Store
	ended chan task.Task
	// stopping is closed when the engine is told to stop. Set by run.
	stopping <-chan struct{}
}

// Decided hears of the ends of tasks.
func (p *process) Decided(_ task.Event, d task.Decision) {
	for _, m := range d.Moves {
		if m.Step == "" && m.To.Finished() {
			p.ended <- d.Task
		}
	}
}

// open makes an engine on a file; change sets what is not as usual.
func open(t *testing.T, path string, w *world, change func(*embedded.Config)) *process {
	t.Helper()
	ctx := context.Background()
	p := &process{t: t, path: path, ended: make(chan task.Task, 1<<16)}
	var err error
	if p.store, err = sqlitestore.Open(ctx, path, sqlitestore.Config{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	unfinished, err := p.store.Count(ctx)
	if err != nil {
		t.Fatal(err)
	}
	offers := catalog.New(enginetest.Parse(t, definition), enginetest.Parse(t, urgent))
	if err := offers.Keep(ctx, p.store); err != nil {
		t.Fatal(err)
	}
	c := embedded.Config{
		Store: p.store, Ledger: p.store, Definitions: offers, Unfinished: unfinished, Observer: p,
		Agents: map[string]embedded.Agent{"inventory": {Work: w.work}, "payment": {Work: w.work}, "shipping": {Work: w.work}},
	}
	if change != nil {
		change(&c)
	}
	if p.Engine, err = embedded.New(c); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) close() {
	if err := p.store.Close(); err != nil {
		p.t.Error(err)
	}
}

// run runs the engine and returns what stops it, gracefully.
func (p *process) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	p.stopping = ctx.Done()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.Run(ctx); err != nil {
			p.t.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	p.t.Cleanup(stop)
	return stop
}

// submit submits tasks o-FROM to o-(TO-1), in order.
func (p *process) submit(from, to int) {
	p.t.Helper()
	for i := from; i < to; i++ {
		p.submitFor("acme", i)
	}
}

// submitFor submits task o-I of a tenant.
func (p *process) submitFor(tenant string, i int) {
	p.t.Helper()
	sub := enginetest.Submission(id(i))
	sub.Tenant = tenant
	if _, err := p.Submission.Submit(context.Background(), sub); err != nil {
		p.t.Error(err)
	}
}

// flood submits tasks o-FROM to o-(TO-1), all at the same time.
func (p *process) flood(from, to int) {
	p.t.Helper()
	var all sync.WaitGroup
	for i := from; i < to; i++ {
		all.Go(func() { p.submit(i, i+1) })
	}
	all.Wait()
}

func id(i int) task.ID { return task.ID(fmt.Sprintf("o-%03d", i)) }

// await waits for n tasks to end.
func (p *process) await(n int) {
	p.t.Helper()
	late := time.After(patience)
	for i := range n {
		select {
		case <-p.ended:
		case <-late:
			p.t.Fatalf("%d of %d tasks have ended after %v; depths are %v", i, n, patience, p.Depths())
		}
	}
}

// processed checks that tasks o-0 to o-(n-1) are Processed, without a failure.
func (p *process) processed(n int) {
	p.t.Helper()
	for i := range n {
		got, err := p.store.Load(context.Background(), id(i))
		if err != nil {
			p.t.Error(err)
		} else if got.State != task.Processed || got.FailureCount != 0 {
			p.t.Errorf("task %s ended as %s", id(i), enginetest.Line(got))
		}
	}
}

// await waits for n calls that are wanted.
func (w *world) await(t *testing.T, n int, wanted func(task.Request) bool) {
	t.Helper()
	late := time.After(patience)
	for got := 0; got < n; {
		select {
		case r := <-w.calls:
			if wanted(r) {
				got++
			}
		case <-late:
			t.Fatalf("%d of %d calls have come after %v", got, n, patience)
		}
	}
}

// file is a place for a store.
func file(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "triad.db")
}

// crash copies the file of a running engine as a kill would leave it.
func crash(t *testing.T, path string) string {
	t.Helper()
	to := file(t)
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(path+suffix, to+suffix); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
