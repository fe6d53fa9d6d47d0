package sqlitestore_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/store"
	"triad/shared/store/sqlitestore"
	"triad/shared/task"
)

func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "triad.db")
	acknowledged := killed(t, path, 3_000)
	s := open(t, path, sqlitestore.Config{})
	for id, version := range acknowledged {
		got, err := s.Load(t.Context(), id)
		if err != nil {
			t.Fatalf("Load(%s), acknowledged at version %d: %v", id, version, err)
		}
		// The write that was under way at the end may have been made.
		if got.Version != version && got.Version != version+1 {
			t.Errorf("%s has version %d, acknowledged %d", id, got.Version, version)
		}
		if want := order(id).Order; string(got.Order) != string(want) {
			t.Errorf("%s has order %s, want %s", id, got.Order, want)
		}
	}
}

// killed runs a child that writes, kills it after so many acknowledgements, and
// returns them.
func killed(t *testing.T, path string, lines int) map[task.ID]int64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childFile+"="+path)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := map[task.ID]int64{}
	scanner := bufio.NewScanner(out)
	for n := 0; scanner.Scan(); n++ {
		var id task.ID
		var version int64
		if _, err := fmt.Sscan(scanner.Text(), &id, &version); err != nil {
			// The last line may be cut.
			break
		}
		acknowledged[id] = max(version, acknowledged[id])
		if n == 0 {
			refusedMeanwhile(t, path, cmd.Process.Pid)
		}
		if n == lines {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	if len(acknowledged) < lines/3 {
		t.Fatalf("got %d tasks from the child", len(acknowledged))
	}
	return acknowledged
}

func refusedMeanwhile(t *testing.T, path string, pid int) {
	t.Helper()
	_, err := sqlitestore.Open(t.Context(), path, sqlitestore.Config{})
	if !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint("process ", pid)) {
		t.Errorf("got %v, want %v that names process %d", err, store.ErrInUse, pid)
	}
}

func TestACopyOfTheRunningFilesHasEverythingAcknowledged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "triad.db")
	s := open(t, path, sqlitestore.Config{})
	const tasks = 200
	var all sync.WaitGroup
	for n := range tasks {
		all.Go(func() {
			v := order(task.ID(fmt.Sprint("order-", n)))
			err := s.Create(t.Context(), store.Change{Task: v})
			for err == nil && v.CompleteBy != 0 {
				v = advance(v)
				err = s.Commit(t.Context(), store.Change{Task: v})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()

	copied := filepath.Join(t.TempDir(), "triad.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(copied+suffix, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	again := open(t, copied, sqlitestore.Config{})
	for n := range tasks {
		id := task.ID(fmt.Sprint("order-", n))
		got, err := again.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		want, err := s.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s in the copy (-got +want):\n%s", id, diff)
		}
	}
}
