// Package runs keeps what long runs of the simulator came to: which seeds, at which
// commit, what happened in them, and what was violated. They stand in a file of the
// repository, and a page shows them; see docs/proof.md.
package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"triad/shared/sim"
	"triad/shared/task"
)

// Run is a number of seeds, one after the other, at one commit.
type Run struct {
	Commit string `json:"commit"`
	// From is the first of the Seeds.
	From  uint64 `json:"from"`
	Seeds uint64 `json:"seeds"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
	// Hash is the sum of the hashes of all seeds: who runs the same seeds at the
	// same commit gets the same. 0: it was not recorded.
	Hash Hash `json:"hash,omitempty"`

	Tasks      int `json:"tasks"`
	Commits    int `json:"commits"`
	Messages   int `json:"messages"`
	Deliveries int `json:"deliveries"`
	Calls      int `json:"calls"`
	Effects    int `json:"effects"`
	Captured   int `json:"captured"`
	// Hours is the simulated time.
	Hours float64 `json:"simulatedHours"`
	// Ends counts tasks by the state in which they ended, Faults how often each
	// struck.
	Ends   map[task.State]int `json:"ends"`
	Faults map[string]int     `json:"faults"`
	// Violations tell the options of each seed that violated an invariant, and
	// which.
	Violations []string `json:"violations,omitempty"`
}

// Hash is written in hexadecimal, since numbers of JSON are not so long.
type Hash uint64

// MarshalText writes 16 digits.
func (h Hash) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(h)), nil }

// UnmarshalText reads them.
func (h *Hash) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 64)
	*h = Hash(n)
	return err
}

// Count takes over what a tally has counted.
func (r *Run) Count(t *sim.Tally) {
	r.Seeds = uint64(t.Seeds)
	r.Tasks, r.Commits, r.Messages, r.Deliveries = t.Tasks, t.Commits, t.Messages, t.Deliveries
	r.Calls, r.Effects, r.Captured, r.Hours, r.Ends = t.Calls, t.Effects, t.Rejected, t.Simulated.Hours(), t.Ends
	r.Faults = map[string]int{}
	for _, f := range sim.Faults() {
		r.Faults[f.String()] = t.Faults[f]
	}
}

// add adds what another run came to.
func (r *Run) add(o Run) {
	r.Seeds += o.Seeds
	r.Seconds += o.Seconds
	r.Hash += o.Hash
	r.Tasks += o.Tasks
	r.Commits += o.Commits
	r.Messages += o.Messages
	r.Deliveries += o.Deliveries
	r.Calls += o.Calls
	r.Effects += o.Effects
	r.Captured += o.Captured
	r.Hours += o.Hours
	r.Ends, r.Faults = sum(r.Ends, o.Ends), sum(r.Faults, o.Faults)
	r.Violations = append(r.Violations, o.Violations...)
}

func sum[K comparable](a, b map[K]int) map[K]int {
	total := map[K]int{}
	for _, m := range []map[K]int{a, b} {
		for k, n := range m {
			total[k] += n
		}
	}
	return total
}

// Load reads the runs of a file. One that is not there has none.
func Load(file string) ([]Run, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the recorded runs: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var all []Run
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("reading the recorded runs in %s: %w", file, err)
	}
	return all, nil
}

// Add adds a run: to the one that it goes on from, at the same commit, or as one
// of its own. Seeds that have run at that commit are refused.
func Add(all []Run, r Run) ([]Run, error) {
	for _, o := range all {
		if o.Commit == r.Commit && r.From < o.From+o.Seeds && o.From < r.From+r.Seeds {
			return nil, fmt.Errorf("seeds %d to %d of commit %s are recorded already: begin behind them", o.From, o.From+o.Seeds-1, o.Commit)
		}
	}
	for i := range all {
		if o := &all[i]; o.Commit == r.Commit && o.From+o.Seeds == r.From {
			o.add(r)
			return all, nil
		}
	}
	return append(all, r), nil
}

// Save writes the runs into a file, whole or not at all.
func Save(file string, all []Run) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("recording a run: %w", err)
	}
	if err := os.WriteFile(file+".new", append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("recording a run: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("recording a run: %w", err)
	}
	return nil
}
