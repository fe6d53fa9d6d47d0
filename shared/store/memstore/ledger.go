package memstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"triad/shared/store"
)

// Mail returns the mailboxes: the Store itself.
func (s *Store) Mail() store.Mail { return s }

// tell keeps notices and alerts. One whose id is there already is dropped.
func (s *Store) tell(c store.Change) {
	for _, n := range c.Notices {
		if !slices.ContainsFunc(s.notices, func(k store.KeptNotice) bool { return k.ID == n.ID }) {
			n.Outputs = maps.Clone(n.Outputs)
			s.notices = append(s.notices, store.KeptNotice{Seq: s.next(), Notice: n})
		}
	}
	for _, a := range c.Alerts {
		if !slices.ContainsFunc(s.alerts, func(k store.KeptAlert) bool { return k.ID == a.ID }) {
			s.alerts = append(s.alerts, store.KeptAlert{Seq: s.next(), Alert: a})
		}
	}
}

// Define stores a definition. See store.Ledger.
func (s *Store) Define(ctx context.Context, d store.Definition) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("storing definition %s@%d: %w", d.Name, d.Version, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, found := slices.BinarySearchFunc(s.definitions, d, func(a, b store.Definition) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	if !found {
		d.Source = bytes.Clone(d.Source)
		s.definitions = slices.Insert(s.definitions, i, d)
		return nil
	}
	if !bytes.Equal(s.definitions[i].Source, d.Source) {
		return fmt.Errorf("storing definition %s@%d: %w", d.Name, d.Version, store.ErrDefined)
	}
	return nil
}

// Definitions returns all definitions. See store.Ledger.
func (s *Store) Definitions(ctx context.Context) ([]store.Definition, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("listing definitions: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.definitions)
	for i := range list {
		list[i].Source = bytes.Clone(list[i].Source)
	}
	return list, nil
}

// Reject captures a message, to the byte. See store.Ledger.
func (s *Store) Reject(ctx context.Context, r store.Rejected) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("capturing a message of queue %s: %w", r.Queue, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Seq, r.Body = s.next(), bytes.Clone(r.Body)
	s.rejected = append(s.rejected, r)
	return nil
}

// Rejections lists captured messages. See store.Ledger.
func (s *Store) Rejections(ctx context.Context, after int64, limit int) ([]store.Rejected, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, err := page(ctx, s.rejected, limit, func(r store.Rejected) bool { return r.Seq > after })
	for i := range list {
		list[i].Body = bytes.Clone(list[i].Body)
	}
	return list, err
}

// Dismiss removes a captured message. See store.Ledger.
func (s *Store) Dismiss(ctx context.Context, seq int64) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("dismissing rejected message %d: %w", seq, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rejected = slices.DeleteFunc(s.rejected, func(r store.Rejected) bool { return r.Seq == seq })
	return nil
}

// Notices lists a response queue. See store.Mail.
func (s *Store) Notices(ctx context.Context, queue string, after int64, limit int) ([]store.KeptNotice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return page(ctx, s.notices, limit, func(n store.KeptNotice) bool { return n.Queue == queue && n.Seq > after })
}

// Acknowledge deletes a notice. See store.Mail.
func (s *Store) Acknowledge(ctx context.Context, queue string, seq int64) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("acknowledging notice %d of queue %s: %w", seq, queue, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = slices.DeleteFunc(s.notices, func(n store.KeptNotice) bool { return n.Queue == queue && n.Seq == seq })
	return nil
}

// Alerts lists what operators were told. See store.Mail.
func (s *Store) Alerts(ctx context.Context, after int64, limit int) ([]store.KeptAlert, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return page(ctx, s.alerts, limit, func(a store.KeptAlert) bool { return a.Seq > after })
}

// page copies the first entries that are wanted, at most limit.
func page[T any](ctx context.Context, all []T, limit int, wanted func(T) bool) (list []T, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("listing: %w", err)
	}
	for _, item := range all {
		if len(list) < limit && wanted(item) {
			list = append(list, item)
		}
	}
	return list, nil
}
