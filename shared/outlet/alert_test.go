package outlet_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"triad/shared/task"
)

func TestAnAlertIsPublishedWithItsSubjectAndAttributes(t *testing.T) {
	t.Parallel()
	r := inMemory()
	alert := task.Alert{ID: "o-1/alert/0", Task: "o-1", Workflow: "order@1", Step: "ship", Subject: "Task o-1 ended in Error", Action: "a < b\uffff", At: 7}
	if err := r.out.Alert(t.Context(), []task.Alert{alert}); err != nil {
		t.Fatal(err)
	}
	if len(r.cloud.published) != 1 {
		t.Fatalf("published %v, want one", r.cloud.published)
	}
	got := r.cloud.published[0]
	equal(t, "message", *got.Message, `{"id":"o-1/alert/0","task":"o-1","workflow":"order@1","step":"ship","subject":"Task o-1 ended in Error","action":"a < b\uffff","at":7}`)
	equal(t, "subject", *got.Subject, alert.Subject)
	equal(t, "TaskID", *got.MessageAttributes["TaskID"].StringValue, "o-1")
	equal(t, "Workflow", *got.MessageAttributes["Workflow"].StringValue, "order@1")
	var again task.Alert
	if err := json.Unmarshal([]byte(*got.Message), &again); err != nil {
		t.Fatal(err)
	}
	equal(t, "alert", again, alert)
}

// TestSubjectsAreOneLineThatSNSTakes: the cloud refuses any other.
func TestSubjectsAreOneLineThatSNSTakes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ subject, want string }{
		"plain":                      {"Task o-1 ended", "Task o-1 ended"},
		"none":                       {"", ""},
		"spaces only":                {" \n ", ""},
		"as long as is allowed":      {strings.Repeat("x", 99), strings.Repeat("x", 99)},
		"too long":                   {strings.Repeat("x", 100), strings.Repeat("x", 96) + "..."},
		"too long, not ASCII":        {strings.Repeat("é", 500), strings.Repeat("?", 96) + "..."},
		"lines":                      {"a\r\nb\tc\x00d\u2028e", "a b c d?e"},
		"a space at the beginning":   {" \x1b[0m", "[0m"},
		"another alphabet":           {"Ж 🚚!", "? ?!"},
		"delete, a control of ASCII": {"a\x7fb", "a?b"},
		"no UTF-8":                   {"a\xffb", "a?b"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := inMemory()
			if err := r.out.Alert(t.Context(), []task.Alert{{ID: "a", Subject: c.subject}}); err != nil {
				t.Fatal(err)
			}
			equal(t, "subject", aws.ToString(r.cloud.published[0].Subject), c.want)
		})
	}
}

func TestAlertsArePublishedByTensAnd256KiB(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		alerts, size int
		want         []string
	}{
		"none":       {0, 0, nil},
		"ten":        {10, 10, []string{"10"}},
		"twenty-one": {21, 10, []string{"10", "10", "1"}},
		"large ones": {5, 100 << 10, []string{"2", "2", "1"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := inMemory()
			var alerts []task.Alert
			for n := range c.alerts {
				alerts = append(alerts, task.Alert{ID: fmt.Sprint(n), Task: "o-1", Workflow: "order@1", Action: strings.Repeat("x", c.size)})
			}
			if err := r.out.Alert(t.Context(), alerts); err != nil {
				t.Fatal(err)
			}
			equal(t, "calls", r.cloud.made("PublishBatch"), c.want)
			equal(t, "published", len(r.cloud.published), c.alerts)
		})
	}
}

// TestABatchIsFilledToTheLastByte that SNS takes, attributes counted.
func TestABatchIsFilledToTheLastByte(t *testing.T) {
	t.Parallel()
	alert := task.Alert{ID: "a", Task: "o-1", Workflow: "order@1"}
	plain, err := json.Marshal(alert)
	if err != nil {
		t.Fatal(err)
	}
	rest := 128<<10 - len(plain) - len("TaskIDStringo-1WorkflowStringorder@1")
	for more, want := range [][]string{{"2", "2"}, {"1", "1", "1", "1"}} {
		r := inMemory()
		alert.Action = strings.Repeat("x", rest+more)
		if err := r.out.Alert(t.Context(), slices.Repeat([]task.Alert{alert}, 4)); err != nil {
			t.Fatal(err)
		}
		equal(t, "calls", r.cloud.made("PublishBatch"), want)
	}
}

func TestAlertsThatMayNotBePublishedAreTold(t *testing.T) {
	t.Parallel()
	const doing = "publishing to topic " + topic + ": "
	both := func(cause string) string {
		return "telling alert a: " + doing + cause + "\ntelling alert b: " + doing + cause
	}
	cases := map[string]struct {
		before, after error
		refuse        func(body string) (string, bool)
		err           string
		published     int
	}{
		"one throttled": {nil, nil, only(`"b"`, "Throttled", false), "telling alert b: " + doing + "throttled, try again later (Throttled): no", 1},
		"one left out":  {nil, nil, only(`"b"`, "", true), "telling alert b: " + doing + "the answer leaves it out", 1},
		"lost request":  {errReset, nil, nil, both("no answer from SNS: " + errReset.Error()), 0},
		"lost answer":   {nil, errReset, nil, both("no answer from SNS: " + errReset.Error()), 2},
		"no topic":      {fail("NotFound", "Topic does not exist"), nil, nil, both("there is no topic " + topic + ": check the ARN and its region"), 0},
		"denied":        {fail("AuthorizationError", "no policy"), nil, nil, both("access denied: the role needs sns:Publish on it, and the use of its key when it has one: no policy"), 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := inMemory()
			r.cloud.refuse = c.refuse
			r.cloud.fault = func(string, string) (error, error) { return c.before, c.after }
			equal(t, "error", text(r.out.Alert(t.Context(), []task.Alert{{ID: "a"}, {ID: "b"}})), c.err)
			equal(t, "published", len(r.cloud.published), c.published)
		})
	}
}
