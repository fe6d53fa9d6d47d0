package sqlitestore

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"triad/shared/store"
)

// Define stores a definition. See store.Ledger.
func (s *Store) Define(ctx context.Context, d store.Definition) error {
	err := s.writes.submit(ctx, func(w *writer) (answer, fault error) {
		n, err := w.do.insertDef.exec(d.Name, int64(d.Version), solid(d.Source))
		if err != nil {
			return nil, err
		}
		w.changed += n
		return nil, nil
	})
	if err == nil {
		// What is stored stays, whoever stored it.
		err = s.same(ctx, d)
	}
	if err != nil {
		return fmt.Errorf("storing definition %s@%d: %w", d.Name, d.Version, err)
	}
	return nil
}

// same reports store.ErrDefined when d is stored with another source.
func (s *Store) same(ctx context.Context, d store.Definition) error {
	var source []byte
	err := s.reads.db.QueryRowContext(ctx, `SELECT source FROM definitions WHERE name = ? AND version = ?`,
		d.Name, d.Version).Scan(&source)
	if err != nil {
		return translate(s.path, err)
	}
	if !bytes.Equal(source, d.Source) {
		return store.ErrDefined
	}
	return nil
}

// Definitions returns all definitions. See store.Ledger.
func (s *Store) Definitions(ctx context.Context) ([]store.Definition, error) {
	return collect(ctx, s, "listing definitions", func(scan func(...any) error) (d store.Definition, err error) {
		return d, scan(&d.Name, &d.Version, &d.Source)
	}, `SELECT name, version, source FROM definitions ORDER BY name, version`)
}

// Reject captures a message, to the byte. See store.Ledger.
func (s *Store) Reject(ctx context.Context, r store.Rejected) error {
	reason := strings.ToValidUTF8(r.Reason, "\uFFFD")
	err := s.writes.submit(ctx, func(w *writer) (answer, fault error) {
		n, err := w.do.insertRejected.exec(r.Queue, solid(r.Body), reason, int64(r.At))
		w.changed += n
		return nil, err
	})
	if err != nil {
		return fmt.Errorf("capturing a message of queue %s: %w", r.Queue, err)
	}
	return nil
}

// Rejections lists captured messages. See store.Ledger.
func (s *Store) Rejections(ctx context.Context, after int64, limit int) ([]store.Rejected, error) {
	return collect(ctx, s, "listing rejected messages", func(scan func(...any) error) (r store.Rejected, err error) {
		return r, scan(&r.Seq, &r.Queue, &r.Body, &r.Reason, &r.At)
	}, `SELECT seq, queue, body, reason, at FROM rejected WHERE seq > ? ORDER BY seq LIMIT ?`, after, max(0, limit))
}

// CountRejected returns how many captured messages wait for an operator.
func (s *Store) CountRejected(ctx context.Context) (n int, err error) {
	if err := s.reads.db.QueryRowContext(ctx, `SELECT count(*) FROM rejected`).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting rejected messages: %w", translate(s.path, err))
	}
	return n, nil
}

// Dismiss removes a captured message. See store.Ledger.
func (s *Store) Dismiss(ctx context.Context, seq int64) error {
	err := s.writes.submit(ctx, func(w *writer) (answer, fault error) {
		n, err := w.do.deleteRejected.exec(seq)
		w.changed += n
		return nil, err
	})
	if err != nil {
		return fmt.Errorf("dismissing rejected message %d: %w", seq, err)
	}
	return nil
}

// solid returns b, not nil: a column that must have bytes may have none.
func solid(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// collect runs a query on a read-only connection and gathers its rows.
func collect[T any](ctx context.Context, s *Store, doing string, row func(scan func(...any) error) (T, error),
	query string, args ...any) (list []T, err error) {
	defer func() {
		if err != nil {
			list, err = nil, fmt.Errorf("%s: %w", doing, translate(s.path, err))
		}
	}()
	rows, err := s.reads.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		item, err := row(rows.Scan)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, rows.Err()
}
