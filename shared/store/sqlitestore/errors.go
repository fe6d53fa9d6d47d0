package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"

	"triad/shared/store"
)

// errClosed is not a sentinel: a program that uses a closed store has a bug.
var errClosed = errors.New("store was closed")

// SQLite's primary result codes; the extended code has them in its low byte.
const (
	codeBusy     = 5
	codeReadOnly = 8
	codeIOErr    = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26

	codeIOErrFsync = codeIOErr | 4<<8
)

// translate wraps an error of SQLite or of the file system in the sentinel that
// says what to do about it. path is the store's file.
func translate(path string, err error) error {
	var failure *sqlite.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failure):
		return translateCode(path, failure)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: free some space for %s: %w", store.ErrFull, path, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: check the permissions of %s and its folder: %w", store.ErrReadOnly, path, err)
	}
	return err
}

func translateCode(path string, failure *sqlite.Error) error {
	switch failure.Code() & 0xff {
	case codeFull:
		return fmt.Errorf("%w: free some space for %s: %w", store.ErrFull, path, failure)
	case codeCorrupt, codeNotADB:
		return fmt.Errorf("%w: restore %s from a backup: %w", store.ErrDamaged, path, failure)
	case codeReadOnly, codeCantOpen:
		return fmt.Errorf("%w: check the permissions of %s and its folder: %w", store.ErrReadOnly, path, failure)
	case codeBusy:
		return fmt.Errorf("another program is writing to %s, which it must not: %w", path, failure)
	case codeIOErr:
		// A write that found no room was rolled back; after a failed fsync
		// nobody can tell what reached the disk.
		if failure.Code() != codeIOErrFsync && noRoom(path) {
			return fmt.Errorf("%w: free some space for %s: %w", store.ErrFull, path, failure)
		}
	}
	return failure
}
