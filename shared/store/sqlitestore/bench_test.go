package sqlitestore_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"triad/shared/store"
	"triad/shared/store/sqlitestore"
	"triad/shared/task"
)

const created = task.Millis(1_700_000_000_000)

// order is the reference task of five steps, about 800 bytes once processed.
func order(id task.ID) task.Task {
	t := task.Task{
		ID: id, Workflow: "order@1", State: task.Processing, Version: 1, Op: "scheduler-7f9c4d5b6e-x2x9z/1",
		LockedBy: "scheduler-7f9c4d5b6e-x2x9z", CompleteBy: created + 10_000, Deadline: created + 86_400_000, Shard: 11,
		ResponseQueue: "notices", Tenant: "shop", OrderHash: "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU", CreatedAt: created,
		Order: json.RawMessage(`{"item":"spade","count":1,"total":19.95,"to":"1 High Street, Anytown","customer":"c-123456"}`),
	}
	for _, name := range []string{"reserve", "charge", "pack", "ship", "confirm"} {
		t.Steps = append(t.Steps, task.StepState{Name: name, State: task.Pending})
	}
	return t
}

// advance is the next commit of the task: a step ends and the next is claimed;
// the last one ends the task.
func advance(t task.Task) task.Task {
	t = t.Clone()
	i := int(t.Version - 1)
	t.Version++
	s := &t.Steps[i]
	s.State, s.Attempt, s.LockedBy, s.CompleteBy = task.Processed, 1, "", 0
	s.StartedAt, s.EndedAt, s.Rank = created+100, created+31_234, t.Version
	s.Output = json.RawMessage(`{"id":"res-8f3a2c91","ok":true}`)
	if i+1 == len(t.Steps) {
		t.State, t.CompleteBy, t.EndedAt, t.LockedBy = task.Processed, 0, created+99_000, ""
		return t
	}
	s = &t.Steps[i+1]
	s.State, s.Attempt, s.LockedBy, s.CompleteBy = task.Processing, 1, t.LockedBy, created+41_234
	return t
}

// BenchmarkCommit runs whole tasks: one create and five commits each.
func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := openBench(b)
			run(b, callers, int64(b.N), func(n int64) (int64, error) {
				t := order(task.ID(fmt.Sprintf("order-%x-%d", uint64(n)*0x9E3779B97F4A7C15, n)))
				err := s.Create(b.Context(), store.Change{Task: t})
				for err == nil && t.CompleteBy != 0 {
					t = advance(t)
					err = s.Commit(b.Context(), store.Change{Task: t})
				}
				return t.Version, err
			})
			report(b, s)
		})
	}
}

// BenchmarkBacklog creates a backlog of tasks that nobody works on, and then
// commits to the oldest, which have left memory.
func BenchmarkBacklog(b *testing.B) {
	for _, backlog := range []int64{20_000, 200_000, 1_000_000} {
		b.Run(fmt.Sprintf("tasks=%d", backlog), func(b *testing.B) {
			s := openBench(b)
			id := func(n int64) task.ID {
				return task.ID(fmt.Sprintf("order-%x-%d", uint64(n)*0x9E3779B97F4A7C15, n))
			}
			run(b, 256, backlog, func(n int64) (int64, error) {
				return 1, s.Create(b.Context(), store.Change{Task: order(id(n))})
			})
			creates := float64(backlog) / b.Elapsed().Seconds()
			b.ResetTimer()
			run(b, 256, int64(b.N), func(n int64) (int64, error) {
				t, err := s.Load(b.Context(), id(n))
				if err == nil {
					err = s.Commit(b.Context(), store.Change{Task: advance(t)})
				}
				return 1, err
			})
			report(b, s)
			b.ReportMetric(creates, "creates/s")
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			b.ReportMetric(float64(memory.HeapSys>>20), "heapMB")
		})
	}
}

func openBench(b *testing.B) *sqlitestore.Store {
	b.Helper()
	s, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "triad.db"), sqlitestore.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	b.ResetTimer()
	return s
}

// run calls work, which returns how many writes it made, until there were
// enough.
func run(b *testing.B, callers int, writes int64, work func(n int64) (int64, error)) {
	b.Helper()
	var made, next atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for made.Load() < writes {
				n, err := work(next.Add(1))
				if made.Add(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

func report(b *testing.B, s *sqlitestore.Store) {
	b.Helper()
	b.StopTimer()
	stats := s.Stats()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
	b.ReportMetric(float64(stats.Commits)/float64(stats.Groups), "commits/group")
	b.ReportMetric(float64(stats.Checkpoints), "checkpoints")
}
