// Package process starts programs that outlive the one that started them, and
// stops exactly those again.
//
// A program is remembered by a Record, which is written to a file: its process
// id and the moment it started, since ids are used again. Nothing is ever
// signalled that does not match both. The program leads a process group of its
// own, and what it started ends with it.
//
// It reads /proc, and so it works on Linux only, as do the functions that run
// in the emulator.
package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// How long a program may take to end by itself, and how often it is looked at
// meanwhile.
const (
	endsWithin = 5 * time.Second
	lookEvery  = 20 * time.Millisecond
)

// Record says which process a program is.
type Record struct {
	// PID is the process id, and that of the process group.
	PID int `json:"pid"`
	// Started is the kernel's start time of the process, in clock ticks since
	// the machine started.
	Started uint64 `json:"started"`
	// URL is where the program serves.
	URL string `json:"url"`
	// Log is the file that has what the program printed.
	Log string `json:"log"`
}

// Start runs a program on its own: path, args and env are all that it gets. What
// it prints goes to the file log, made anew. The record is not saved yet.
func Start(log string, env []string, path string, args ...string) (Record, error) {
	out, err := os.Create(log)
	if err != nil {
		return Record{}, err
	}
	defer out.Close() // the program keeps it open
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Record{}, err
	}
	go func() { _ = cmd.Wait() }() // no zombie while this process lives
	s, err := read(cmd.Process.Pid)
	if err != nil {
		return Record{}, fmt.Errorf("%s ended at once: %w", filepath.Base(path), err)
	}
	return Record{PID: cmd.Process.Pid, Started: s.started, Log: log}, nil
}

// Alive reports whether the very process of the record runs.
func (r Record) Alive() bool {
	s, err := read(r.PID)
	return err == nil && s.started == r.Started && s.state != 'Z'
}

// Stop ends the process and everything it started: it asks first, and kills
// what is left after 5 s. It returns an error when something survives. To stop
// what does not run is no error.
func (r Record) Stop(ctx context.Context) error {
	if !r.Alive() {
		return nil
	}
	family, err := r.family()
	if err != nil {
		return err
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		// What was started meanwhile belongs to it as well.
		if more, err := r.family(); err == nil {
			family = append(family, more...)
		}
		for _, p := range family {
			if p.Alive() {
				if err := syscall.Kill(p.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
					return fmt.Errorf("ending process %d: %w", p.PID, err)
				}
			}
		}
		if err := ended(ctx, family); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("process %d, or one that it started, can't be ended", r.PID)
}

// ended waits until none of the processes is left.
func ended(ctx context.Context, all []Record) error {
	ctx, cancel := context.WithTimeout(ctx, endsWithin)
	defer cancel()
	for again := time.Tick(lookEvery); slices.ContainsFunc(all, Record.Alive); {
		select {
		case <-again:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// family is the process and all that descend from it, or are in its group.
func (r Record) family() ([]Record, error) {
	all, err := table()
	if err != nil {
		return nil, err
	}
	family := []Record{r}
	for grown := true; grown; {
		grown = false
		for _, s := range all {
			p := Record{PID: s.pid, Started: s.started}
			related := s.group == r.PID || slices.ContainsFunc(family, func(of Record) bool { return of.PID == s.parent })
			if related && s.started >= r.Started && !slices.ContainsFunc(family, func(of Record) bool { return of.PID == s.pid }) {
				family, grown = append(family, p), true
			}
		}
	}
	return family, nil
}

// Save writes the record to a file, whole or not at all.
func (r Record) Save(file string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// Load reads a record that was saved. found is false when there is none.
func Load(file string) (r Record, found bool, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return Record{}, false, fmt.Errorf("reading %s: %w", file, err)
	}
	return r, true, nil
}
