package repository_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/infra/repository"
)

func TestTheRepositoryIsFoundFromAnyFolderInIt(t *testing.T) {
	found, err := repository.Find()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(found, "go.mod")); err != nil {
		t.Error(err)
	}
	t.Chdir(found)
	if again, err := repository.Find(); again != found || err != nil {
		t.Errorf("from its root it is %q, %v; want %q", again, err, found)
	}
	t.Chdir(t.TempDir())
	if other, err := repository.Find(); err == nil || !strings.Contains(err.Error(), "run this in the repository") {
		t.Errorf("outside of it: %q, %v", other, err)
	}
}
