package mutant_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/infra/gate/mutant"
)

const root = "../../.."

// TestEveryMutantChangesOneText: a mutant whose text was rewritten, or is there
// twice, would do nothing, or something else.
func TestEveryMutantChangesOneText(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range mutant.All() {
		overlay, err := m.Overlay(root, t.TempDir())
		if err != nil {
			t.Error(err)
			continue
		}
		source, _ := os.ReadFile(filepath.Join(root, m.File))
		mutated, _ := os.ReadFile(filepath.Join(filepath.Dir(overlay), "mutant.go"))
		if len(mutated) == 0 || bytes.Equal(source, mutated) {
			t.Errorf("%s changes nothing", m.Name)
		}
		if names[m.Name] {
			t.Errorf("there are two mutants %q", m.Name)
		}
		names[m.Name] = true
	}
}

// TestEveryMutantNamesTestsThatExist: a mutant without a test is left to the
// simulation.
func TestEveryMutantNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	inTests := 0
	for _, m := range mutant.All() {
		if m.Test == (mutant.Test{}) {
			continue
		}
		inTests++
		if !strings.HasPrefix(m.Test.Run, "^Test") {
			t.Errorf("%s: %q does not name tests", m.Name, m.Test.Run)
		}
		if files, _ := filepath.Glob(filepath.Join(root, m.Test.Package, "*_test.go")); len(files) == 0 {
			t.Errorf("%s: %s has no tests", m.Name, m.Test.Package)
		}
	}
	if all := len(mutant.All()); all < 40 || inTests < 10 {
		t.Errorf("there are %d mutants, %d of them for tests: that is few", all, inTests)
	}
}

func TestATextThatIsNotThereOnceIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("one two two"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, says := range map[string]string{"two": "occurs 2 times in a.go", "three": "occurs 0 times in a.go"} {
		_, err := mutant.Mutant{Name: "x", File: "a.go", Before: text}.Overlay(dir, t.TempDir())
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want an error that says %q", text, err, says)
		}
	}
}
