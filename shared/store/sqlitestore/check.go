package sqlitestore

import (
	"context"
	"fmt"
	"os"

	"triad/shared/store"
)

// checkedBytes is the largest file whose structure is checked when it is
// opened: that takes up to a second or so. Damage in a larger one shows when it
// is read.
const checkedBytes = 64 << 20

// checkSmall checks a small file.
func (s *Store) checkSmall(ctx context.Context) error {
	if file, err := os.Stat(s.path); err != nil || file.Size() > checkedBytes {
		return err
	}
	return s.Check(ctx)
}

// Check looks for damage in the structure of the file: store.ErrDamaged says
// what it found first. It reads the whole file, and holds up no writes.
func (s *Store) Check(ctx context.Context) error {
	var found string
	if err := s.reads.db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return fmt.Errorf("checking the file: %w", translate(s.path, err))
	}
	if found != "ok" {
		return fmt.Errorf("checking the file: %w: restore %s from a backup: %s", store.ErrDamaged, s.path, found)
	}
	return nil
}
