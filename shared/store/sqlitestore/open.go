package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"triad/shared/store"
)

// Store is an open store file. All methods are safe for concurrent use.
type Store struct {
	path   string
	config Config
	owned  *os.File
	count  counters
	cache  *cache
	reads  *reads
	writes *writer
	// buffers has *[]byte to encode records in.
	buffers sync.Pool

	closing sync.Once
	closed  error
}

var (
	_ store.Store  = (*Store)(nil)
	_ store.Walker = (*Store)(nil)
	_ store.Ledger = (*Store)(nil)
	_ store.Mail   = (*Store)(nil)
)

// Open opens the store at path, and makes it if there is no file; its folder
// must exist. It takes time for what a crash left in the WAL and, up to 64 MiB,
// for a check of the file's structure: a second or so. Errors: store.ErrInUse when another Store, of this process or
// another, has the file open; store.ErrReadOnly; store.ErrFull;
// store.ErrDamaged; and a plain one when the file is another program's or made
// by a newer version of this package.
func Open(ctx context.Context, path string, config Config) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	owned, err := lock(path)
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	s := &Store{path: path, config: config.withDefaults(), owned: owned}
	s.cache = newCache(s.config.CacheBytes, &s.count)
	if err := s.start(ctx); err != nil {
		return nil, fmt.Errorf("opening store: %w", errors.Join(translate(path, err), s.release()))
	}
	return s, nil
}

func (s *Store) start(ctx context.Context) (err error) {
	if err := prepare(ctx, s.path); err != nil {
		return err
	}
	if s.reads, err = openReads(ctx, s.path, s.config.Readers); err != nil {
		return err
	}
	if err := s.checkSmall(ctx); err != nil {
		return err
	}
	s.writes, err = startWriter(ctx, s)
	return err
}

// Close waits for the operations that were handed over, copies the WAL into the
// file and gives up ownership. Operations that come later get an error. Closing
// again is harmless.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.release() })
	return s.closed
}

// release closes what is open. The writer's connections go last: with the last
// one SQLite removes the WAL.
func (s *Store) release() error {
	var errs []error
	if s.writes != nil {
		s.writes.stop()
	}
	if s.reads != nil {
		errs = append(errs, s.reads.db.Close())
	}
	if s.writes != nil {
		errs = append(errs, s.writes.close())
	}
	return errors.Join(append(errs, s.owned.Close())...)
}

// reads is the pool of read-only connections.
type reads struct {
	db    *sql.DB
	task  *sql.Stmt
	due   *sql.Stmt
	count *sql.Stmt
}

func openReads(ctx context.Context, path string, readers int) (_ *reads, err error) {
	db, err := sql.Open("sqlite", dsn(path, "ro", "query_only(1)", "cache_size(-4096)"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	r := &reads{db: db}
	for _, p := range []struct {
		stmt **sql.Stmt
		sql  string
	}{{&r.task, selectTask}, {&r.due, selectDue}, {&r.count, countUnfinished}} {
		if *p.stmt, err = db.PrepareContext(ctx, p.sql); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return r, nil
}
