package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"

	"triad/shared/store"
)

// Mail returns the mailboxes: the Store itself.
func (s *Store) Mail() store.Mail { return s }

// Notices lists a response queue. See store.Mail.
func (s *Store) Notices(ctx context.Context, queue string, after int64, limit int) ([]store.KeptNotice, error) {
	return collect(ctx, s, "listing notices of queue "+queue, func(scan func(...any) error) (k store.KeptNotice, err error) {
		var body string
		if err := scan(&k.Seq, &body); err != nil {
			return k, err
		}
		if err := json.Unmarshal([]byte(body), &k.Notice); err != nil {
			return k, fmt.Errorf("%w: reading notice %d: %w", store.ErrDamaged, k.Seq, err)
		}
		k.Queue = queue
		return k, nil
	}, `SELECT seq, body FROM notices WHERE queue = ? AND seq > ? ORDER BY seq LIMIT ?`, queue, after, max(0, limit))
}

// Acknowledge deletes a notice. See store.Mail.
func (s *Store) Acknowledge(ctx context.Context, queue string, seq int64) error {
	err := s.writes.submit(ctx, func(w *writer) (answer, fault error) {
		n, err := w.do.deleteNotice.exec(queue, seq)
		if err != nil || n == 0 {
			return nil, err
		}
		w.changed++
		if seq == w.next.notice-1 {
			// No row is left to tell that the number was given.
			_, err = w.do.markNotice.exec(seq)
		}
		return nil, err
	})
	if err != nil {
		return fmt.Errorf("acknowledging notice %d of queue %s: %w", seq, queue, err)
	}
	return nil
}

// Alerts lists what operators were told. See store.Mail.
func (s *Store) Alerts(ctx context.Context, after int64, limit int) ([]store.KeptAlert, error) {
	return collect(ctx, s, "listing alerts", func(scan func(...any) error) (k store.KeptAlert, err error) {
		var body string
		if err := scan(&k.Seq, &body); err != nil {
			return k, err
		}
		if err := json.Unmarshal([]byte(body), &k.Alert); err != nil {
			return k, fmt.Errorf("%w: reading alert %d: %w", store.ErrDamaged, k.Seq, err)
		}
		return k, nil
	}, `SELECT seq, body FROM alerts WHERE seq > ? ORDER BY seq LIMIT ?`, after, max(0, limit))
}
