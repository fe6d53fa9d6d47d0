package command_test

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/infra/standin"
)

// statement is one of a policy of IAM.
type statement struct {
	Sid              string
	Action, Resource []string
}

func (s statement) allows(action, arn string) bool {
	return slices.Contains(s.Action, action) && slices.ContainsFunc(s.Resource, func(pattern string) bool {
		fits, err := path.Match(pattern, arn)
		return err == nil && fits
	})
}

// operatorPolicy is the policy of docs/operations.md, with these names put in.
func operatorPolicy(t *testing.T, names ...string) []statement {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```json\n{\n  \"Version\"")
	block, _, ends := strings.Cut("{\n  \"Version\""+block, "```")
	if !found || !ends {
		t.Fatal("the document has no policy")
	}
	var policy struct{ Statement []statement }
	if err := json.Unmarshal([]byte(strings.NewReplacer(names...).Replace(block)), &policy); err != nil {
		t.Fatal(err)
	}
	return policy.Statement
}

// needs are the actions that a call needs, each with the ARN that it is on.
// Transactions here are those of a task and its order.
func needs(c standin.Call, tables []string) (all [][2]string) {
	service, name, _ := strings.Cut(strings.TrimSuffix(c.Action, "Batch"), ":")
	arn := "arn:aws:" + service + ":us-east-1:000000000000:"
	switch {
	case name == "TransactWriteItems" || name == "TransactGetItems":
		for _, table := range tables {
			all = append(all, [2]string{"dynamodb:" + map[string]string{"TransactWriteItems": "PutItem", "TransactGetItems": "GetItem"}[name], arn + "table/" + table})
		}
		return all
	case c.Index != "":
		arn += "table/" + c.On + "/index/" + c.Index
	case service == "dynamodb":
		arn += "table/" + c.On
	case service == "cloudformation":
		arn += "stack/" + c.On + "/1a2b"
	default:
		arn += c.On
	}
	return [][2]string{{service + ":" + name, arn}}
}

// TestThePolicyOfOperatorsIsEnoughAndNoMore: whatever the commands do is allowed
// by the policy that the operators' document gives, and each of its statements is
// needed; looking needs those alone that the document says.
func TestThePolicyOfOperatorsIsEnoughAndNoMore(t *testing.T) {
	t.Parallel()
	p := newOnStack(t)
	policy := operatorPolicy(t, "REGION", "us-east-1", "ACCOUNT", "000000000000", "STACK", p.cloud.Name, "TASKS", p.cloud.Tables.Tasks, "ORDERS", p.cloud.Tables.Orders)
	used, checked := map[string]bool{}, 0
	check := func(may func(statement) bool) {
		t.Helper()
		calls := p.cloud.Calls()
		for _, c := range calls[checked:] {
			if c.By != "triad-cli" {
				continue
			}
			for _, need := range needs(c, []string{p.cloud.Tables.Tasks, p.cloud.Tables.Orders}) {
				at := slices.IndexFunc(policy, func(s statement) bool { return may(s) && s.allows(need[0], need[1]) })
				if at < 0 {
					t.Errorf("%s on %s is not allowed", need[0], need[1])
					continue
				}
				used[policy[at].Sid] = true
			}
		}
		checked = len(calls)
	}
	p.fail("notification", "lost-*")
	p.stdin = placed("lost-1")
	p.must("submit", "-")
	p.cloud.Settle(t, "lost-1")
	p.stdin = placed("new-1")
	p.must("submit", "-")
	for _, args := range [][]string{{"resubmit", "lost-1"}, {"pause", "new-1"}, {"cancel", "new-1"}, {"workflow", "apply", filepath.Join("..", "..", "..", "workflows")}} {
		p.must(args...)
	}
	p.cloud.Send(t, "submissions", "not JSON")
	p.cloud.Pump(t, "submissions")
	p.cloud.Send(t, "scheduler-dead", "{}")
	for _, args := range [][]string{{"rejected"}, {"notices", "shop", "--ack"}, {"redrive"}, {"redrive", "scheduler"}} {
		p.must(args...)
	}
	p.run("doctor") // it finds the rejected message
	check(func(statement) bool { return true })
	for _, args := range [][]string{{"list", "--unfinished"}, {"list", "--state", "Error"}, {"show", "lost-1"}, {"watch", "--once"}, {"workflow", "list"}} {
		p.must(args...)
	}
	check(func(s statement) bool { return slices.Contains([]string{"Stack", "Look", "Index"}, s.Sid) })
	for _, s := range policy {
		// Only some ends of undoing send an alert from here.
		if !used[s.Sid] && s.Sid != "Alert" {
			t.Errorf("nothing needs the statement %s", s.Sid)
		}
	}
}
