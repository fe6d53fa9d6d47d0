package plan

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"triad/shared/remote"
	"triad/shared/task"
	"triad/shared/workflow"
	"triad/workflows"
)

//go:embed workflows/*.yaml
var definitions embed.FS

// Write writes the workflows into a folder, and the agents of the samples beside
// them when agents is true.
func Write(folder string, agents bool) error {
	names, err := fs.Glob(definitions, "workflows/*.yaml")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := copyFile(definitions, name, folder); err != nil {
			return err
		}
	}
	if agents {
		return copyFile(workflows.FS, "agents.yaml", folder)
	}
	return nil
}

func copyFile(from fs.FS, name, folder string) error {
	text, err := fs.ReadFile(from, name)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, filepath.Base(name)), text, 0o600)
}

// Bound is how long a task may take at most once the faults have ended: the
// longest of the workflows, its steps one after the other and undone again.
func Bound() (time.Duration, error) {
	names, err := fs.Glob(definitions, "workflows/*.yaml")
	if err != nil {
		return 0, err
	}
	var longest time.Duration
	for _, name := range names {
		d, err := workflow.ParseFS(definitions, name, remote.Names())
		if err != nil {
			return 0, fmt.Errorf("reading %s: %w", name, err)
		}
		var sum time.Duration
		for _, s := range d.Workflow.Steps {
			sum += tries(s.CompleteWithin, s.Retry) + s.ExtendedWait.For
			if s.Undo != nil {
				sum += tries(s.Undo.CompleteWithin, s.Undo.Retry)
			}
		}
		longest = max(longest, sum)
	}
	return longest, nil
}

// tries is the time of up to three attempts: one that a fault spoilt, one that
// was lost with its process, and a good one.
func tries(within time.Duration, r task.Retry) time.Duration {
	return time.Duration(min(r.Attempts, 3)) * (within + r.Max)
}
