package sqlitestore_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"triad/shared/store/sqlitestore"
	"triad/shared/store/storetest"
	"triad/shared/task"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		return harness(t, filepath.Join(t.TempDir(), "triad.db"), sqlitestore.Config{})
	})
}

// TestConformanceWithoutMemory makes every read go to the file.
func TestConformanceWithoutMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		return harness(t, filepath.Join(t.TempDir(), "triad.db"), sqlitestore.Config{CacheBytes: 1, CheckpointPages: 1})
	})
}

func harness(t *testing.T, path string, config sqlitestore.Config) storetest.Harness {
	t.Helper()
	s := open(t, path, config)
	h := storetest.Harness{Store: s, Ledger: s, Walker: s, KeepsTold: true, Reopen: func(t *testing.T) storetest.Harness {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return harness(t, path, config)
	}}
	h.Damage = func(t *testing.T, id task.ID) storetest.Harness {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		execute(t, path, fmt.Sprintf("UPDATE tasks SET record = '{' WHERE id = '%s'", id))
		return harness(t, path, config)
	}
	return h
}

func open(t *testing.T, path string, config sqlitestore.Config) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), path, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
