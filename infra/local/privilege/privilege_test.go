package privilege_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/infra/local/privilege"
)

// simulator is the installed one; without it the test is left out.
func simulator(t *testing.T) privilege.Simulator {
	t.Helper()
	modules, err := filepath.Abs(filepath.Join("..", "..", "..", ".local", "cloud", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(modules, "@cloud-copilot", "iam-simulate"))
	}
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatalf("finding iam-simulate: %v: run `make local-tools`", err)
	case err != nil:
		t.Skipf("LEFT OUT: %s, which evaluates policies: %v: run `make local-tools`", t.Name(), err)
	}
	return privilege.Simulator{Node: node, Modules: modules}
}

const (
	table = "arn:aws:dynamodb:us-east-1:000000000000:table/tasks"
	queue = "arn:aws:sqs:us-east-1:000000000000:shop"
	topic = "arn:aws:sns:us-east-1:000000000000:alerts"
)

const scheduler = `{"Version": "2012-10-17", "Statement": [
	{"Sid": "Tasks", "Effect": "Allow", "Action": ["dynamodb:PutItem", "dynamodb:Query"], "Resource": "` + table + `"},
	{"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": ["` + queue + `", "` + queue + `-2"]}
]}`

var needed = []privilege.Need{
	{Role: "scheduler", Action: "dynamodb:PutItem", Resource: table},
	{Role: "scheduler", Action: "dynamodb:Query", Resource: table},
	{Role: "scheduler", Action: "sqs:SendMessage", Resource: queue},
	{Role: "scheduler", Action: "sqs:SendMessage", Resource: queue + "-2"},
}

func TestARoleIsTheLeast(t *testing.T) {
	t.Parallel()
	s := simulator(t)
	for name, c := range map[string]struct {
		policy string
		needs  []privilege.Need
		denied []string
		unused []string
	}{
		"exactly": {policy: scheduler, needs: needed},
		"a call to another resource is denied": {
			policy: scheduler, needs: append(needed[:4:4], privilege.Need{Role: "scheduler", Action: "sqs:SendMessage", Resource: queue + "-3"}),
			denied: []string{"scheduler sqs:SendMessage on " + queue + "-3"},
		},
		"another action is denied": {
			policy: scheduler, needs: append(needed[:4:4], privilege.Need{Role: "scheduler", Action: "sns:Publish", Resource: topic}),
			denied: []string{"scheduler sns:Publish on " + topic},
		},
		"a table is not its index": {
			policy: scheduler, needs: append(needed[:4:4], privilege.Need{Role: "scheduler", Action: "dynamodb:Query", Resource: table + "/index/CompleteBy"}),
			denied: []string{"scheduler dynamodb:Query on " + table + "/index/CompleteBy"},
		},
		"an action that nothing needs": {
			policy: scheduler, needs: []privilege.Need{needed[0], needed[2], needed[3]},
			unused: []string{"scheduler dynamodb:Query on " + table + " (statement Tasks)"},
		},
		"a resource that nothing needs": {
			policy: scheduler, needs: needed[:3],
			unused: []string{"scheduler sqs:SendMessage on " + queue + "-2 (statement 2)"},
		},
		"nothing needed": {
			policy: scheduler,
			unused: []string{
				"scheduler dynamodb:PutItem on " + table + " (statement Tasks)", "scheduler dynamodb:Query on " + table + " (statement Tasks)",
				"scheduler sqs:SendMessage on " + queue + " (statement 2)", "scheduler sqs:SendMessage on " + queue + "-2 (statement 2)",
			},
		},
		"a wider statement is used as well": {
			policy: `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["sqs:Send*", "sqs:Purge*"], "Resource": "*"}]}`,
			needs:  needed[2:3],
			unused: []string{"scheduler sqs:Purge* on * (statement 1)"},
		},
		"a deny wins": {
			policy: strings.Replace(scheduler, `"Statement": [`, `"Statement": [{"Effect": "Deny", "Action": "sqs:*", "Resource": "`+queue+`"},`, 1),
			needs:  needed,
			denied: []string{"scheduler sqs:SendMessage on " + queue},
		},
		"conditions count": {
			policy: `{"Version": "2012-10-17", "Statement": [{"Sid": "Open", "Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "` + queue + `", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}]}`,
			needs:  needed[2:3],
			denied: []string{"scheduler sqs:SendMessage on " + queue},
			unused: []string{"scheduler sqs:SendMessage on " + queue + " (statement Open)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := s.Check(t.Context(), []privilege.Role{{Name: "scheduler", Policies: []json.RawMessage{json.RawMessage(c.policy)}}}, c.needs)
			if err != nil {
				t.Fatal(err)
			}
			var denied, unused []string
			for _, n := range got.Denied {
				denied = append(denied, n.String())
			}
			for _, g := range got.Unused {
				unused = append(unused, g.String())
			}
			if diff := cmp.Diff([][]string{c.denied, c.unused}, [][]string{denied, unused}); diff != "" {
				t.Errorf("denied, then unused (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatCannotBeEvaluatedIsAnError(t *testing.T) {
	t.Parallel()
	s := simulator(t)
	for name, c := range map[string]struct {
		policy string
		need   privilege.Need
		want   string
	}{
		"role that is not there":   {scheduler, privilege.Need{Role: "agent", Action: "sqs:SendMessage", Resource: queue}, "no role agent"},
		"action that is not IAM":   {scheduler, privilege.Need{Role: "scheduler", Action: "sqs:SendMessages", Resource: queue}, "sqs:SendMessages"},
		"policy that is none":      {`{"Statement": 7}`, needed[0], "reading a policy"},
		"everything but an action": {`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"}]}`, needed[0], "must name actions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s.Check(t.Context(), []privilege.Role{{Name: "scheduler", Policies: []json.RawMessage{json.RawMessage(c.policy)}}}, []privilege.Need{c.need})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that says %q", err, c.want)
			}
		})
	}
}
