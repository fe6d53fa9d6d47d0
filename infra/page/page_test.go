package page_test

import (
	"os"
	"path/filepath"
	"testing"

	"triad/infra/page"
)

func TestAPartIsWrittenAndReadBetweenItsLines(t *testing.T) {
	t.Parallel()
	p := page.Of("The table", "make table")
	before := "# Title\n\n" + p.Begin + "old\n" + p.End + "behind\n"
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(file, "| new |\n"); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const want = "# Title\n\n<!-- The table begins: `make table` writes it. -->\n\n| new |\n\n<!-- The table ends. -->\nbehind\n"
	if string(after) != want {
		t.Errorf("the page is\n%s\nwant\n%s", after, want)
	}
	if got, found := p.In(want); !found || got != "| new |\n" {
		t.Errorf("In: %q, %v", got, found)
	}
}

func TestAPageWithoutTheLinesIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := page.Of("The table", "make table")
	for _, document := range []string{"", "nothing", p.Begin, p.End} {
		file := filepath.Join(t.TempDir(), "page.md")
		if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := p.Write(file, "new"); err == nil {
			t.Errorf("%q: no error", document)
		}
		if after, err := os.ReadFile(file); err != nil || string(after) != document {
			t.Errorf("%q became %q, %v", document, after, err)
		}
		if got, found := p.In(document); found {
			t.Errorf("%q: In found %q", document, got)
		}
	}
	if err := p.Write(filepath.Join(t.TempDir(), "none"), "new"); err == nil {
		t.Error("a page that is not there: no error")
	}
}
