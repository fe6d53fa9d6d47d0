package chaos_test

import (
	"strings"
	"testing"

	"triad/infra/soak/audit"
	"triad/infra/soak/chaos"
	"triad/shared/task"
)

func TestAReportSaysWhatIsWrongAndHowToRepeatIt(t *testing.T) {
	t.Parallel()
	r := &chaos.Report{Form: "embedded", Seed: 7, Submitted: 12, Ended: map[task.State]int{task.Processed: 11, task.Error: 1}}
	var quiet, loud strings.Builder
	if err := r.Print(&quiet, "soak --seed 7"); err != nil {
		t.Fatal(err)
	}
	r.Violations = []audit.Violation{{Rule: audit.Lost, ID: "happy-3", What: "it is gone"}}
	if err := r.Print(&loud, "soak --seed 7"); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"seed 7", "submitted           12", "ended Error         1", "ended Processed     11"} {
		if !strings.Contains(quiet.String(), words) {
			t.Errorf("%q is missing:\n%s", words, &quiet)
		}
	}
	for _, words := range []string{"VIOLATION  lost  happy-3: it is gone", "soak --seed 7"} {
		if strings.Contains(quiet.String(), words) || !strings.Contains(loud.String(), words) {
			t.Errorf("%q must be said when something is wrong, and only then:\n%s", words, &loud)
		}
	}
}
