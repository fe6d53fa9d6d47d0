// Package repository finds the repository that a tool works on.
package repository

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Find returns the folder of the repository: this one or the nearest above it that
// has template.yaml, which stands beside go.mod.
func Find() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for parent := ""; ; folder = parent {
		if _, err := os.Stat(filepath.Join(folder, "template.yaml")); err == nil {
			return folder, nil
		}
		if parent = filepath.Dir(folder); parent == folder {
			return "", errors.New("no folder above this one has a template.yaml: run this in the repository")
		}
	}
}
