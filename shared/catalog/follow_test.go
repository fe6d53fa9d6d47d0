package catalog_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"triad/shared/catalog"
	"triad/shared/engine"
	"triad/shared/store"
	"triad/shared/store/memstore"
	"triad/shared/workflow"
	"triad/workflows"
)

// counted is a ledger that counts its calls, and may fail.
type counted struct {
	*memstore.Store
	reads, defines atomic.Int32
	fails          func(ctx context.Context) error
}

func newCounted() *counted { return &counted{Store: memstore.New()} }

func (c *counted) Define(ctx context.Context, d store.Definition) error {
	c.defines.Add(1)
	return c.Store.Define(ctx, d)
}

func (c *counted) Definitions(ctx context.Context) ([]store.Definition, error) {
	c.reads.Add(1)
	if c.fails != nil {
		if err := c.fails(ctx); err != nil {
			return nil, err
		}
	}
	return c.Store.Definitions(ctx)
}

// follow is a catalog that follows the ledger.
func follow(t *testing.T, ledger catalog.Ledger, defs ...workflow.Definition) *catalog.Catalog {
	t.Helper()
	c := catalog.New(defs...)
	if err := c.Follow(context.Background(), ledger); err != nil {
		t.Fatal(err)
	}
	return c
}

// apply adds a version of the workflow parcel, as another process does.
func apply(t *testing.T, ledger catalog.Ledger, version string) {
	t.Helper()
	if err := load(t, files(map[string]string{"w.yaml": parcel(version, "1h")})).Keep(context.Background(), ledger); err != nil {
		t.Fatal(err)
	}
}

// newest is the version that a name stands for; 0 when there is none.
func newest(t *testing.T, c *catalog.Catalog, name string) int {
	t.Helper()
	d, err := c.Definition(name)
	if errors.Is(err, engine.ErrNoWorkflow) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return d.Workflow().Version
}

func TestWhatIsKeptAlreadyIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	ledger := newCounted()
	for range 3 {
		if err := load(t, workflows.FS).Keep(context.Background(), ledger); err != nil {
			t.Fatal(err)
		}
	}
	if got := ledger.defines.Load(); got != 2 {
		t.Errorf("two definitions were written %d times, want 2", got)
	}
}

func TestOneThatKeepsReadsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := newCounted()
		c := catalog.New(definition(t, "1"))
		if err := c.Keep(t.Context(), ledger); err != nil {
			t.Fatal(err)
		}
		apply(t, ledger, "2")
		before := ledger.reads.Load()
		for range 3 {
			<-time.After(time.Hour) // the time of the bubble
			if got := newest(t, c, "parcel"); got != 1 {
				t.Errorf("the newest is %d, want 1", got)
			}
			if _, err := c.Workflow("parcel@2"); !errors.Is(err, engine.ErrNoWorkflow) {
				t.Errorf("got %v, want %v", err, engine.ErrNoWorkflow)
			}
		}
		if got := ledger.reads.Load(); got != before {
			t.Errorf("it was read %d times again", got-before)
		}
	})
}

func TestADefinitionThatOthersAddIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := newCounted()
		c := follow(t, ledger, definition(t, "1"))
		if got := newest(t, c, "other"); got != 0 {
			t.Errorf("version %d of what was never kept is found", got)
		}
		apply(t, ledger, "2")
		started := time.Now()
		if w, err := c.Workflow("parcel@2"); err != nil || w.Ref() != "parcel@2" {
			t.Errorf("a task pinned to parcel@2 finds %s, %v", w.Ref(), err)
		}
		apply(t, ledger, "3")
		if d, err := c.Definition("parcel@3"); err != nil || d.Workflow().Version != 3 {
			t.Errorf("a submission of parcel@3: %v", err)
		}
		if took := time.Since(started); took > 2*time.Second {
			t.Errorf("it took %v for two", took)
		}
		reads := ledger.reads.Load()
		for range 1_000 {
			for _, ref := range []string{"parcel@1", "parcel@2", "parcel@3"} {
				if _, err := c.Workflow(ref); err != nil {
					t.Error(err)
				}
			}
		}
		if got := ledger.reads.Load(); got != reads {
			t.Errorf("what is known was read %d times", got-reads)
		}
	})
}

func TestANewerVersionIsTakenWithinAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := newCounted()
		c := follow(t, ledger, definition(t, "1"))
		apply(t, ledger, "2")
		reads := ledger.reads.Load()
		for range 60 {
			<-time.After(time.Second) // the time of the bubble
			newest(t, c, "parcel")
		}
		if got := newest(t, c, "parcel"); got != 2 {
			t.Errorf("after a minute the newest is %d, want 2", got)
		}
		if got := ledger.reads.Load() - reads; got > 2 {
			t.Errorf("it was read %d times in a minute, want 2 at most", got)
		}
	})
}

func TestAStormOfUnknownWorkflowsReadsOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := newCounted()
		c := follow(t, ledger, definition(t, "1"))
		started, reads := time.Now(), ledger.reads.Load()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				for range 10 {
					if _, err := c.Definition("odrer"); !errors.Is(err, engine.ErrNoWorkflow) {
						t.Errorf("got %v, want %v", err, engine.ErrNoWorkflow)
					}
				}
			})
		}
		all.Wait()
		seconds, got := time.Since(started).Seconds(), ledger.reads.Load()-reads
		if float64(got) > seconds+1 || seconds > 11 {
			t.Errorf("it was read %d times in %v s; want once a second, and each question answered within one", got, seconds)
		}
	})
}

func TestALedgerThatCannotBeReadLeavesOpenWhatThereIs(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(context.Context) error{
		"fails":           func(context.Context) error { return store.ErrDamaged },
		"does not answer": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ledger := newCounted()
				c := follow(t, ledger, definition(t, "1"))
				apply(t, ledger, "2")
				ledger.fails = fails
				<-time.After(time.Hour) // the time of the bubble
				started := time.Now()
				if got := newest(t, c, "parcel"); got != 1 {
					t.Errorf("the newest is %d, want what was known", got)
				}
				for _, ref := range []string{"parcel@2", "other"} {
					if _, err := c.Definition(ref); err == nil || errors.Is(err, engine.ErrNoWorkflow) {
						t.Errorf("%s: got %v, want an error that leaves it open", ref, err)
					}
				}
				if took := time.Since(started); took > 15*time.Second {
					t.Errorf("it took %v", took)
				}
				ledger.fails = nil
				if got := newest(t, c, "parcel"); got != 1 && got != 2 {
					t.Errorf("the newest is %d", got)
				}
				if w, err := c.Workflow("parcel@2"); err != nil {
					t.Errorf("%s: %v", w.Ref(), err)
				}
			})
		})
	}
}

func TestAStoredDefinitionThatCannotBeUsedHidesNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := newCounted()
		broken := store.Definition{Name: "parcel", Version: 7, Source: []byte("?")}
		if err := ledger.Store.Define(t.Context(), broken); err != nil {
			t.Fatal(err)
		}
		c := follow(t, ledger, definition(t, "1"))
		broken.Version = 8
		if err := ledger.Store.Define(t.Context(), broken); err != nil {
			t.Fatal(err)
		}
		d, err := workflow.Parse(workflow.Source{Text: []byte(parcel("9", "1h"))})
		if err != nil {
			t.Fatal(err)
		}
		if err := ledger.Store.Define(t.Context(), store.Definition{Name: "parcel", Version: 9, Source: d.Bundle()}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Workflow("parcel@9"); err != nil {
			t.Error(err)
		}
		for _, ref := range []string{"parcel@7", "parcel@8"} {
			if _, err := c.Workflow(ref); err == nil || errors.Is(err, engine.ErrNoWorkflow) || !strings.Contains(err.Error(), ref) {
				t.Errorf("%s: got %v, want an error that says what is wrong with it", ref, err)
			}
		}
	})
}

// TestADamagedDefinitionStopsNoProcess: a build that has it offers its own, and
// keeps the rest. Others are told when they ask for it, and who keeps it, at once.
func TestADamagedDefinitionStopsNoProcess(t *testing.T) {
	t.Parallel()
	ledger := broken{Store: memstore.New(), stored: []store.Definition{
		{Name: "parcel", Version: 1, Source: definition(t, "1").Bundle()}, {Name: "parcel", Version: 2, Err: store.ErrDamaged},
	}}
	for name, c := range map[string]*catalog.Catalog{
		"without it": follow(t, ledger), "with it": follow(t, ledger, definition(t, "2"), definition(t, "3")),
	} {
		if _, err := c.Workflow("parcel@1"); err != nil {
			t.Errorf("%s: the sound one: %v", name, err)
		}
		if _, err := c.Workflow("parcel@2"); (name == "with it") != (err == nil) || err != nil && !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: the damaged one: got error %v", name, err)
		}
	}
	if err := catalog.New(definition(t, "2")).Keep(t.Context(), ledger); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "parcel@2") {
		t.Errorf("Keep: got %v, want %v", err, store.ErrDamaged)
	}
}

func TestFollowFailsLikeKeep(t *testing.T) {
	t.Parallel()
	ledger := newCounted()
	apply(t, ledger, "1")
	other := load(t, files(map[string]string{"w.yaml": parcel("1", "2h")}))
	if err := other.Follow(t.Context(), ledger); !errors.Is(err, store.ErrDefined) {
		t.Errorf("got %v, want %v", err, store.ErrDefined)
	}
}
