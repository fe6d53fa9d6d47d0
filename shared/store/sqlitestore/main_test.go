package sqlitestore_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"triad/shared/store"
	"triad/shared/store/sqlitestore"
	"triad/shared/task"
)

// childFile names the environment variable that makes this test binary a
// program that writes to a store until it is killed.
const childFile = "SQLITESTORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		os.Exit(child(path))
	}
	os.Exit(m.Run())
}

// child creates and commits tasks for ever and prints a line, "id version", for
// each write once it is acknowledged.
func child(path string) int {
	s, err := sqlitestore.Open(context.Background(), path, sqlitestore.Config{CheckpointPages: 50})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	var all sync.WaitGroup
	for caller := range 8 {
		all.Go(func() {
			for n := 0; ; n++ {
				t := order(task.ID(fmt.Sprintf("order-%d-%d", caller, n)))
				if s.Create(context.Background(), store.Change{Task: t}) != nil {
					return
				}
				fmt.Println(t.ID, t.Version)
				t = advance(t)
				if s.Commit(context.Background(), store.Change{Task: t}) != nil {
					return
				}
				fmt.Println(t.ID, t.Version)
			}
		})
	}
	all.Wait()
	return 1
}
