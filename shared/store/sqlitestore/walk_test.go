package sqlitestore_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"triad/shared/store"
	"triad/shared/store/sqlitestore"
	"triad/shared/task"
)

// TestAWalkTellsWhatTheFileHasAndGoesOn damages one of three rows, and looks at
// what the walk says of it and whether it still sees the others.
func TestAWalkTellsWhatTheFileHasAndGoesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage     string
		fault      string // empty: the record can be read
		completeBy task.Millis
	}{
		"no damage":                    {"", "", created + 10_000},
		"the index has lost it":        {"UPDATE tasks SET due = 0 WHERE id = 'b'", "", 0},
		"the index has another time":   {"UPDATE tasks SET due = due + 1 WHERE id = 'b'", "", created + 10_001},
		"a record that is no record":   {"UPDATE tasks SET record = '{' WHERE id = 'b'", "damaged", created + 10_000},
		"a record of another task":     {"UPDATE tasks SET record = replace(record, '\"b\"', '\"x\"') WHERE id = 'b'", "the column id", created + 10_000},
		"a state beside the record's":  {"UPDATE tasks SET state = 'Processed' WHERE id = 'b'", "the column state", created + 10_000},
		"a version that is no copy":    {"UPDATE tasks SET version = 7 WHERE id = 'b'", "the column version", created + 10_000},
		"a tenant that is no copy":     {"UPDATE tasks SET tenant = 'x' WHERE id = 'b'", "the column tenant", created + 10_000},
		"a definition that is no copy": {"UPDATE tasks SET workflow = 'x@1' WHERE id = 'b'", "the column workflow", created + 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "triad.db")
			stored(t, path, "a", "b", "c")
			if c.damage != "" {
				execute(t, path, c.damage)
			}
			page, err := open(t, path, sqlitestore.Config{}).Walk(t.Context(), "", 10)
			if err != nil || len(page.Tasks) != 3 {
				t.Fatalf("walked by %d tasks, %v; want 3", len(page.Tasks), err)
			}
			got := page.Tasks[1]
			if got.ID != "b" || got.CompleteBy != c.completeBy {
				t.Errorf("the index has %s at %d, want b at %d", got.ID, got.CompleteBy, c.completeBy)
			}
			if (got.Err != nil) != (c.fault != "") || got.Err != nil && (!errors.Is(got.Err, store.ErrDamaged) || !strings.Contains(got.Err.Error(), c.fault)) {
				t.Errorf("got error %v, want one with %q", got.Err, c.fault)
			}
		})
	}
}

func TestCheckOfASoundFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "triad.db")
	stored(t, path)
	if err := open(t, path, sqlitestore.Config{}).Check(t.Context()); err != nil {
		t.Error(err)
	}
}
