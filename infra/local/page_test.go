package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"triad/shared/task"
	"triad/shared/workflow"
	"triad/workflows"
)

// page is docs/deploy.md: what is done on this machine, and in an account.
func page(t *testing.T) (here, account string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	here, account, found := strings.Cut(string(text), "\n## In your account")
	account, _, ends := strings.Cut(account, "\n## ")
	if !found || !ends {
		t.Fatal("the page has no part that begins with: ## In your account, and ends before another")
	}
	return here, account
}

// TestThePageWorksAsWritten does what docs/deploy.md tells a newcomer to do on
// their machine, word for word, and looks for what it promises: the words of each
// text block, line by line, in what the block before it printed.
func TestThePageWorksAsWritten(t *testing.T) {
	if !*deployed {
		t.Skip("LEFT OUT: docs/deploy.md, followed word for word: run `make local-test`")
	}
	here, _ := page(t)
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

// TestWhatThePageSendsToAnAccountIsAccepted: a new stack has no response queues,
// so what its page sends names none; the workflow takes it; and the page looks at
// the task that it made.
func TestWhatThePageSendsToAnAccountIsAccepted(t *testing.T) {
	t.Parallel()
	_, account := page(t)
	for _, file := range regexp.MustCompile("(?:file://|submit )(events/[^\\s`]+)").FindAllStringSubmatch(account, -1) {
		if text, err := os.ReadFile("../../" + file[1]); err != nil || strings.Contains(string(text), `"responseQueue"`) {
			t.Errorf("the page sends %s, which names a response queue (%v)", file[1], err)
		}
	}
	order, err := workflow.ParseFS(workflows.FS, "order.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	sent := regexp.MustCompile("(?s)--message-body '(.*?)'").FindAllStringSubmatch(account, -1)
	for _, body := range sent {
		var sub task.Submission
		if err := json.Unmarshal([]byte(body[1]), &sub); err != nil {
			t.Fatalf("the page sends %s: %v", body[1], err)
		}
		if err := order.CheckOrder(sub.Order); err != nil || sub.Workflow != order.Name || sub.ResponseQueue != "" {
			t.Errorf("the page sends %+v, which a new stack rejects (%v)", sub, err)
		}
		if !strings.Contains(account, "watch "+string(sub.ID)+"\n") {
			t.Errorf("the page sends %s and does not watch it", sub.ID)
		}
	}
	if len(sent) == 0 {
		t.Error("the page sends nothing")
	}
}
