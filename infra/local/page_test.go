package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestThePageWorksAsWritten does what docs/deploy.md tells a newcomer to do on
// their machine, word for word, and looks for what it promises: the words of each
// text block, line by line, in what the block before it printed.
func TestThePageWorksAsWritten(t *testing.T) {
	if !*deployed {
		t.Skip("LEFT OUT: docs/deploy.md, followed word for word: run `make local-test`")
	}
	page, err := os.ReadFile("../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	here, _, found := strings.Cut(string(page), "\n## In your account")
	if !found {
		t.Fatal("the page has no part that begins with: ## In your account")
	}
	const mark = "=== block ends ==="
	var script strings.Builder
	var promised [][]string
	for _, block := range regexp.MustCompile("(?s)```(sh|text)\n(.*?)```").FindAllStringSubmatch(here, -1) {
		if block[1] == "sh" {
			script.WriteString(block[2] + "echo '" + mark + "'\n")
			promised = append(promised, nil)
			continue
		}
		promised[len(promised)-1] = strings.Split(strings.TrimSpace(block[2]), "\n")
	}
	t.Cleanup(func() {
		down := exec.Command("make", "local-down")
		down.Dir = "../.."
		if said, err := down.CombinedOutput(); err != nil {
			t.Errorf("make local-down: %v\n%s", err, said)
		}
	})
	shell := exec.CommandContext(t.Context(), "bash", "-e")
	shell.Dir, shell.Stdin, shell.Stderr = "../..", strings.NewReader(script.String()), os.Stderr
	printed, err := shell.Output()
	if err != nil {
		t.Fatalf("following the page: %v\n%s", err, printed)
	}
	said := strings.Split(string(printed), mark)
	for i, lines := range promised {
		text := strings.Join(strings.Fields(said[i]), " ")
		for _, line := range lines {
			if want := strings.Join(strings.Fields(line), " "); !strings.Contains(text, want) {
				t.Errorf("block %d promises %q and printed\n%s", i+1, want, said[i])
			}
		}
	}
	if len(promised) < 4 {
		t.Errorf("the page has %d blocks of commands for this machine: too few to be true", len(promised))
	}
}
