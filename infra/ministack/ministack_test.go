package ministack_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/infra/ministack"
)

// TestItsEnvironmentIsItsOwn: what this process knows of AWS, or of anything
// else, stays here.
func TestItsEnvironmentIsItsOwn(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "https://elsewhere.example")
	t.Setenv("TRIAD_STACK", "mine")
	folder := t.TempDir()
	cases := map[string]struct {
		config ministack.Config
		has    []string
	}{
		"by itself": {
			ministack.Config{Folder: folder, Port: 4567},
			[]string{"GATEWAY_PORT=4567", "BIND_HOST=127.0.0.1", "AWS_ENDPOINT_URL=http://127.0.0.1:4567"},
		},
		"behind something, under a name": {
			ministack.Config{Folder: folder, Port: 4567, Endpoint: "http://127.0.0.1:1", Name: "ours"},
			[]string{"GATEWAY_PORT=4567", "AWS_ENDPOINT_URL=http://127.0.0.1:1", "MINISTACK_EDITION=ours"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			env, err := c.config.Environment()
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.has {
				if !slices.Contains(env, want) {
					t.Errorf("got %v, want it to have %s", env, want)
				}
			}
			seen := map[string]bool{}
			for _, v := range env {
				variable, value, _ := strings.Cut(v, "=")
				if seen[variable] || strings.HasPrefix(variable, "TRIAD_") || value == "" {
					t.Errorf("got %s, want each variable once, with a value, and none of ours", v)
				}
				seen[variable] = true
			}
		})
	}
	if _, err := os.Stat(filepath.Join(folder, "python", "sitecustomize.py")); err != nil {
		t.Errorf("the module that makes answers fast is not there: %v", err)
	}
}

func TestAFolderThatCanNotBeMadeIsTold(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (ministack.Config{Folder: file, Port: 1}).Environment(); err == nil {
		t.Error("got no error for a file in the place of the folder")
	}
}
