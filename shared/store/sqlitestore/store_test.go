package sqlitestore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"triad/shared/store"
	"triad/shared/store/sqlitestore"
	"triad/shared/task"
)

// TestAFullStoreRefusesAndKeepsWhatItHas, also when what no longer fits comes in a
// group with what would have fitted: that happens once in the life of a file, at a
// place in the group that nobody chooses, so it is tried with many files.
func TestAFullStoreRefusesAndKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	for size := int64(200); size < 360; size += 10 {
		t.Run(fmt.Sprint(size, "KiB"), func(t *testing.T) {
			t.Parallel()
			fill(t, size<<10)
		})
	}
}

// fill has callers create tasks in a file of so many bytes until it is full.
func fill(t *testing.T, size int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "triad.db")
	s := open(t, path, sqlitestore.Config{MaxBytes: size})
	var created, refused sync.Map
	var all sync.WaitGroup
	for caller := range 8 {
		all.Go(func() {
			for n := range 20 {
				v := order(task.ID(fmt.Sprintf("order-%d-%d", caller, n)))
				v.Order = json.RawMessage(`"` + strings.Repeat("x", 3_000) + `"`)
				switch err := s.Create(t.Context(), store.Change{Task: v}); {
				case err == nil:
					created.Store(v.ID, v)
				case errors.Is(err, store.ErrFull):
					refused.Store(v.ID, v)
				default:
					t.Errorf("Create: got %v, want %v", err, store.ErrFull)
				}
			}
		})
	}
	all.Wait()
	s = expectOnly(t, s, path, &created, &refused)
	// There is room again: what was refused can be repeated.
	refused.Range(func(_, v any) bool {
		if err := s.Create(t.Context(), store.Change{Task: v.(task.Task)}); err != nil {
			t.Errorf("Create with room: %v", err)
		}
		return true
	})
}

// expectOnly reopens the store, without a bound, and checks that it has the
// created tasks and none of the refused.
func expectOnly(t *testing.T, s *sqlitestore.Store, path string, created, refused *sync.Map) *sqlitestore.Store {
	t.Helper()
	for range 2 {
		kept, lost := 0, 0
		created.Range(func(id, _ any) bool {
			if _, err := s.Load(t.Context(), id.(task.ID)); err != nil {
				t.Errorf("Load of a created task: %v", err)
			}
			kept++
			return true
		})
		refused.Range(func(id, _ any) bool {
			if _, err := s.Load(t.Context(), id.(task.ID)); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("Load of a refused task: got %v, want %v", err, store.ErrNotFound)
			}
			lost++
			return true
		})
		if kept == 0 || lost == 0 {
			t.Fatalf("%d tasks were created and %d refused, want some of each", kept, lost)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, path, sqlitestore.Config{})
	}
	return s
}

func TestLoadNeverGoesBackWhileTasksLeaveMemory(t *testing.T) {
	t.Parallel()
	// Room for about three tasks.
	s := open(t, filepath.Join(t.TempDir(), "triad.db"), sqlitestore.Config{CacheBytes: 8_000, CheckpointPages: 100})
	const tasks, versions = 6, 60
	var acknowledged [tasks]atomic.Int64
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	id := func(n int) task.ID { return task.ID(fmt.Sprint("order-", n)) }
	for n := range tasks {
		if err := s.Create(t.Context(), store.Change{Task: order(id(n))}); err != nil {
			t.Fatal(err)
		}
		acknowledged[n].Store(1)
	}
	for n := range tasks {
		writers.Go(func() {
			v := order(id(n))
			for range versions {
				v.Version++
				if err := s.Commit(t.Context(), store.Change{Task: v}); err != nil {
					t.Error(err)
					return
				}
				acknowledged[n].Store(v.Version)
			}
		})
		readers.Go(func() {
			for at := n; ; at = (at + 1) % tasks {
				select {
				case <-stop:
					return
				default:
				}
				least := acknowledged[at].Load()
				if v, err := s.Load(t.Context(), id(at)); err != nil || v.Version < least {
					t.Errorf("Load(%s): version %d, error %v, want at least %d", id(at), v.Version, err, least)
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if stats := s.Stats(); stats.CacheMisses == 0 {
		t.Errorf("every task stayed in memory: %+v", stats)
	}
}

func TestStatsCountCommitsAndGroups(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "triad.db"), sqlitestore.Config{CheckpointPages: 20})
	const callers, each = 64, 20
	var all sync.WaitGroup
	for n := range callers {
		all.Go(func() {
			first := order(task.ID(fmt.Sprint("order-", n)))
			err := s.Create(t.Context(), store.Change{Task: first})
			for v := first; err == nil && v.Version < each; {
				v.Version++
				err = errors.Join(s.Commit(t.Context(), store.Change{Task: v}), s.Commit(t.Context(), store.Change{Task: v}))
				if !errors.Is(s.Create(t.Context(), store.Change{Task: first}), store.ErrExists) {
					t.Errorf("a second Create: want %v", store.ErrExists)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got := s.Stats()
	if got.Commits != callers*each {
		t.Errorf("got %d commits, want %d: repeats and refusals don't count", got.Commits, callers*each)
	}
	if got.Groups < each || got.Groups >= got.Commits {
		t.Errorf("got %d groups of %d commits, want them shared by callers", got.Groups, got.Commits)
	}
	if got.Checkpoints == 0 {
		t.Error("got no checkpoint")
	}
}

func TestCountOfUnfinishedTasks(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "triad.db"), sqlitestore.Config{})
	for n := range 5 {
		v := order(task.ID(fmt.Sprint("order-", n)))
		if n < 2 {
			v.State, v.CompleteBy = task.Processed, 0
		}
		if err := s.Create(t.Context(), store.Change{Task: v}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Count(t.Context()); err != nil || got != 3 {
		t.Errorf("got %d and error %v, want 3", got, err)
	}
}

func TestCloseWaitsForWhatWasHandedOver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "triad.db")
	s := open(t, path, sqlitestore.Config{})
	var created sync.Map
	var all sync.WaitGroup
	first := make(chan struct{}, 100)
	for n := range 100 {
		all.Go(func() {
			id := task.ID(fmt.Sprint("order-", n))
			if s.Create(t.Context(), store.Change{Task: order(id)}) == nil {
				created.Store(id, true)
			}
			first <- struct{}{}
		})
	}
	<-first
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	if err := s.Create(t.Context(), store.Change{Task: order("late")}); err == nil {
		t.Error("Create on a closed store: got no error")
	}
	s = open(t, path, sqlitestore.Config{})
	created.Range(func(id, _ any) bool {
		if _, err := s.Load(t.Context(), id.(task.ID)); err != nil {
			t.Error(err)
		}
		return true
	})
}

func TestACallerThatGaveUpFindsItsWriteOrNot(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "triad.db"), sqlitestore.Config{})
	for n := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		v := order(task.ID(fmt.Sprint("order-", n)))
		go cancel()
		err := s.Create(ctx, store.Change{Task: v})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want success or %v", err, context.Canceled)
		}
		cancel()
		if err := s.Create(t.Context(), store.Change{Task: v}); err != nil {
			t.Fatalf("the repeat: %v", err)
		}
	}
}

func TestCursorsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "triad.db"), sqlitestore.Config{})
	for _, cursor := range []string{"x", "1.2", "1.2.x", "1.2.3.4", "'; --"} {
		if _, err := s.List(t.Context(), store.ListQuery{Cursor: cursor}); !errors.Is(err, store.ErrCursor) {
			t.Errorf("List with cursor %q: got %v, want ErrCursor", cursor, err)
		}
		if _, err := s.Due(t.Context(), store.DueQuery{Limit: 1, Cursor: cursor}); !errors.Is(err, store.ErrCursor) {
			t.Errorf("Due with cursor %q: got %v, want ErrCursor", cursor, err)
		}
	}
}

func TestListGoesOnBeyondWhatItScansAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "triad.db"), sqlitestore.Config{})
	var all sync.WaitGroup
	for caller := range 102 {
		all.Go(func() {
			for n := range 50 {
				v := order(task.ID(fmt.Sprintf("order-%d-%d", caller, n)))
				if caller == 0 && n == 0 {
					v.Tenant = "rare"
				}
				if err := s.Create(t.Context(), store.Change{Task: v}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, unfinished := range []bool{false, true} {
		q := store.ListQuery{Tenant: "rare", Unfinished: unfinished}
		found, pages := 0, 0
		for more := true; more; more = q.Cursor != "" {
			page, err := s.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			found += len(page.Tasks)
			pages++
			q.Cursor = page.Next
		}
		if found != 1 || pages != 2 {
			t.Errorf("unfinished %v: found %d in %d pages, want 1 in 2", unfinished, found, pages)
		}
	}
}
