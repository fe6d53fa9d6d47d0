package sqlitestore_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/shared/store"
	"triad/shared/store/sqlitestore"
	"triad/shared/task"
)

func TestASecondStoreOfTheSameFileIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "triad.db")
	s := open(t, path, sqlitestore.Config{})
	if _, err := sqlitestore.Open(t.Context(), path, sqlitestore.Config{}); !errors.Is(err, store.ErrInUse) {
		t.Errorf("got %v, want %v", err, store.ErrInUse)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path, sqlitestore.Config{})
}

func TestFilesThatAreNotOursAreRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		make func(t *testing.T, path string)
		want error
		text string
	}{
		"not a database": {
			make: func(t *testing.T, path string) { write(t, path, []byte(strings.Repeat("a diary ", 2_000))) },
			want: store.ErrDamaged,
		},
		"another program's": {
			make: func(t *testing.T, path string) { execute(t, path, `CREATE TABLE diary(entry)`) },
			text: "another program",
		},
		"made by a newer version": {
			make: func(t *testing.T, path string) { stored(t, path); execute(t, path, `PRAGMA user_version = 99`) },
			text: "upgrade",
		},
		"header overwritten": {
			make: func(t *testing.T, path string) { stored(t, path); patch(t, path, 0, bytes.Repeat([]byte{0xAA}, 100)) },
			want: store.ErrDamaged,
		},
		"cut": {
			make: func(t *testing.T, path string) {
				stored(t, path)
				if err := os.Truncate(path, 6_000); err != nil {
					t.Fatal(err)
				}
			},
			want: store.ErrDamaged,
		},
		// SQLite reads a file with a write version it does not know, and does
		// not write to it: what an unwritable disk looks like.
		"can only be read": {
			make: func(t *testing.T, path string) { stored(t, path); patch(t, path, 18, []byte{9}) },
			want: store.ErrReadOnly,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "triad.db")
			test.make(t, path)
			before := read(t, path)
			_, err := sqlitestore.Open(t.Context(), path, sqlitestore.Config{})
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got error %v, want %v with %q", err, test.want, test.text)
			}
			if !bytes.Equal(read(t, path), before) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestPlacesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "file"), []byte("x"))
	for name, path := range map[string]string{
		"no such folder":        filepath.Join(folder, "missing", "triad.db"),
		"the folder is a file":  filepath.Join(folder, "file", "triad.db"),
		"the file is a folder":  folder,
		"name too long to make": filepath.Join(folder, strings.Repeat("x", 300)),
	} {
		if _, err := sqlitestore.Open(t.Context(), path, sqlitestore.Config{}); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: got %v, want %v", name, err, store.ErrReadOnly)
		}
	}
}

func TestPathsWithOddCharacters(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b.db", "a?mode=memory", "a#b%20c", "é😀'\""} {
		path := filepath.Join(t.TempDir(), name)
		stored(t, path)
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%q: got %v and error %v, want a file of this name", name, info, err)
		}
	}
}

func TestOneFileIsLeftAfterClose(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "triad.db")
	stored(t, path)
	files, err := filepath.Glob(path + "-*")
	if err != nil || len(files) > 0 {
		t.Errorf("left are %v, error %v", files, err)
	}
}

func TestRecordsAreReadableWhileTheStoreIsOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "triad.db")
	s := open(t, path, sqlitestore.Config{})
	if err := s.Create(t.Context(), store.Change{Task: order("order-1")}); err != nil {
		t.Fatal(err)
	}
	db := database(t, path)
	var state, step, item string
	err := db.QueryRow(`SELECT json_extract(record, '$.s'), json_extract(record, '$.st[1].n'), json_extract(body, '$.item')
		FROM tasks JOIN orders USING(seq) WHERE id = 'order-1'`).Scan(&state, &step, &item)
	if err != nil || state != "Processing" || step != "charge" || item != "spade" {
		t.Errorf("got %q, %q, %q and error %v", state, step, item, err)
	}
}

func TestADamagedRecordHurtsItsTaskOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "triad.db")
	stored(t, path, "order-1", "order-2")
	execute(t, path, `UPDATE tasks SET record = substr(record, 1, 100) WHERE id = 'order-1'`)
	s := open(t, path, sqlitestore.Config{})
	_, err := s.Load(t.Context(), "order-1")
	if !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Load: got %v, want %v", err, store.ErrDamaged)
	}
	err = s.Commit(t.Context(), store.Change{Task: advance(order("order-1"))})
	if !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Commit: got %v, want %v", err, store.ErrDamaged)
	}
	if err := s.Commit(t.Context(), store.Change{Task: advance(order("order-2"))}); err != nil {
		t.Errorf("Commit of another task: %v", err)
	}
}

func TestMissingPartsAreDamage(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{"order": `DELETE FROM orders`, "large output": `DELETE FROM outputs`} {
		path := filepath.Join(t.TempDir(), "triad.db")
		stored(t, path)
		execute(t, path, statement)
		s := open(t, path, sqlitestore.Config{})
		if _, err := s.Load(t.Context(), "order-1"); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s missing: got %v, want %v", name, err, store.ErrDamaged)
		}
	}
}

func TestDamagedPagesAreReportedNotReturned(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "triad.db")
	stored(t, path)
	for offset := int64(4_096); offset < int64(len(read(t, path))); offset += 4_096 {
		patch(t, path, offset, bytes.Repeat([]byte{0xAA}, 4_096))
	}
	s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Config{})
	if err == nil {
		_, err = s.Load(t.Context(), "order-1")
		s.Close()
	}
	if !errors.Is(err, store.ErrDamaged) {
		t.Errorf("got %v, want %v", err, store.ErrDamaged)
	}
}

// stored makes a store with tasks, each with a large output, and closes it.
func stored(t *testing.T, path string, ids ...task.ID) {
	t.Helper()
	s := open(t, path, sqlitestore.Config{})
	if len(ids) == 0 {
		ids = []task.ID{"order-1"}
	}
	for _, id := range ids {
		v := order(id)
		v.Steps[0].Output = []byte(`"` + strings.Repeat("x", 1_000) + `"`)
		if err := s.Create(t.Context(), store.Change{Task: v}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// execute runs SQL on a file that no store has open.
func execute(t *testing.T, path, statement string) {
	t.Helper()
	if _, err := database(t, path).Exec(statement); err != nil {
		t.Fatal(err)
	}
}

func database(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(0)
	t.Cleanup(func() { db.Close() })
	return db
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func patch(t *testing.T, path string, offset int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, offset); err != nil {
		t.Fatal(err)
	}
}
