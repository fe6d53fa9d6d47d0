// Package mutant has Triad's mutants: bugs of the kinds that this pattern is
// known for, each a small change of one file, as data. A mutant is made by the
// compiler's overlay; the tree is never touched.
//
// The text that a mutant replaces must occur exactly once in its file, so that
// nobody can turn a mutant off unknowingly by rewriting what it breaks.
package mutant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Mutant is a bug. The zero Test means that the simulation has to find it.
type Mutant struct {
	// Name says what is wrong, in a few words; no two mutants have one name.
	Name string
	Kind Kind
	// File is the path of the file, from the root of the module.
	File string
	// Before occurs exactly once in File; After stands there instead.
	Before, After string
	// Test has to find it, where the simulation doesn't reach.
	Test Test
}

// Test is tests of one package.
type Test struct {
	// Package is its directory, from the root of the module.
	Package string
	// Run is a regular expression of their names, as for go test -run.
	Run string
}

// Kind is what a bug does wrong.
type Kind string

// The kinds of bugs.
const (
	Fence       Kind = "fence"           // who has no right to write, writes
	Lateness    Kind = "lateness"        // what is too late counts, or the reverse
	Commit      Kind = "commit"          // something is said or answered that is not durable
	Unsaid      Kind = "unsaid"          // what a commit implies is never said
	Swallowed   Kind = "swallowed error" // an error that matters is not passed on
	Undo        Kind = "undo"            // undone wrongly, too early, or not at all
	Counting    Kind = "counting"        // failures, attempts or receives are counted wrongly
	Order       Kind = "order"           // something starts before its time, or too often
	Index       Kind = "index"           // the index loses or misleads the Supervisor
	Identity    Kind = "identity"        // two things share an id, or one has two
	Unprocessed Kind = "unprocessed"     // a message that nobody can process gets lost
	Isolation   Kind = "isolation"       // one tenant or task harms others
)

// All returns every mutant: those that the simulation has to find, then those
// that tests have to.
func All() []Mutant { return slices.Concat(ofTask, ofEngines, ofStores, ofQueues, ofEdges) }

// Overlay writes the mutant of the module at root into dir, and returns the file
// that the -overlay flag of go takes. The error says what to do when the text is
// not there, or there twice.
func (m Mutant) Overlay(root, dir string) (overlay string, err error) {
	// The compiler looks for the whole path: a shorter one would change nothing.
	file, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(m.File)))
	if err != nil {
		return "", fmt.Errorf("making the mutant %q: %w", m.Name, err)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("making the mutant %q: %w", m.Name, err)
	}
	if n := bytes.Count(source, []byte(m.Before)); n != 1 {
		return "", fmt.Errorf("making the mutant %q: its text occurs %d times in %s, and must once: bring it up to date, so that it still does what its name says; the text is\n%s",
			m.Name, n, m.File, m.Before)
	}
	mutated := filepath.Join(dir, "mutant.go")
	source = bytes.Replace(source, []byte(m.Before), []byte(m.After), 1)
	if err := os.WriteFile(mutated, source, 0o600); err != nil {
		return "", fmt.Errorf("making the mutant %q: %w", m.Name, err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: mutated}})
	if err != nil {
		return "", fmt.Errorf("making the mutant %q: %w", m.Name, err)
	}
	overlay = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return "", fmt.Errorf("making the mutant %q: %w", m.Name, err)
	}
	return overlay, nil
}
