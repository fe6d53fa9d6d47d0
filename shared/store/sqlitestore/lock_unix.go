//go:build unix

package sqlitestore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"triad/shared/store"
)

// lock makes this process the owner of the store at path until the returned
// file is closed, or the process dies. The lock file stays; it names the owner.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		if err = translate(path, err); !errors.Is(err, store.ErrFull) && !errors.Is(err, store.ErrReadOnly) {
			err = fmt.Errorf("%w: %s must be in a folder that exists: %w", store.ErrReadOnly, path, err)
		}
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s is owned by process %s: stop it, or use another file",
				store.ErrInUse, path, owner(f))
		}
		return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, translate(path, err)
	}
	return f, nil
}

// owner reads who holds the lock, for the error text only.
func owner(f *os.File) string {
	b := make([]byte, 20)
	n, _ := f.ReadAt(b, 0)
	if pid := strings.TrimSpace(string(b[:n])); pid != "" {
		return pid
	}
	return "unknown"
}

// noRoom reports whether the disk under path is as good as full.
func noRoom(path string) bool {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &disk); err != nil {
		return false
	}
	return uint64(disk.Bavail)*uint64(disk.Bsize) < 1<<20
}
