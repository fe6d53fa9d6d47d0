package triad_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// statement is what a role allows.
type statement struct {
	role      string
	actions   []string
	resources []string // Ref and Sub by their text
}

// statements are those of all roles, with conditions taken as true.
func (ts templates) statements() (all []statement) {
	for role, r := range ts.resources(rolesFile, "AWS::IAM::Role") {
		policies, _ := at(r, "Properties", "Policies").([]any)
		for _, p := range policies {
			list, _ := at(p, "PolicyDocument", "Statement").([]any)
			for _, s := range list {
				if choice, is := at(s, "Fn::If").([]any); is {
					s = choice[1]
				}
				all = append(all, statement{role, texts(at(s, "Action")), targets(at(s, "Resource"))})
			}
		}
	}
	return all
}

// granted are the resources on which a role may do something.
func (ts templates) granted(role, action string) (resources []string) {
	for _, s := range ts.statements() {
		if s.role == role && slices.Contains(s.actions, action) {
			resources = append(resources, s.resources...)
		}
	}
	slices.Sort(resources)
	return resources
}

// targets are the resources of a statement.
func targets(in any) (all []string) {
	list, is := in.([]any)
	if !is {
		list = []any{in}
	}
	for _, r := range list {
		for _, how := range []string{"Ref", "Fn::Sub"} {
			if to := at(r, how); to != nil {
				r = to
			}
		}
		all = append(all, fmt.Sprint(r))
	}
	return all
}

// The logs of a function have streams, whose names nobody knows before.
const streams = "arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}:log-group:/aws/lambda/${Stack}-"

// exact: no role may do more than was thought of, or lose data.
func exact(ts templates) (f faults) {
	for file, doc := range ts {
		walk(doc, file, func(path string, o object) {
			if o["ManagedPolicyArns"] != nil {
				f.add("%s: managed policies change without us", path)
			}
			if o["Effect"] == "Allow" && (o["NotAction"] != nil || o["NotResource"] != nil) {
				f.add("%s allows all but something", path)
			}
		})
	}
	for _, s := range ts.statements() {
		for _, action := range s.actions {
			if strings.Contains(action, "*") {
				f.add("%s may do %s", s.role, action)
			}
			if name := strings.ToLower(action); strings.HasPrefix(name, "dynamodb:delete") || name == "dynamodb:scan" || name == "dynamodb:batchwriteitem" {
				f.add("%s may do %s, which no function needs", s.role, action)
			}
		}
		for _, resource := range s.resources {
			group, own := strings.CutPrefix(resource, streams)
			if strings.Contains(strings.TrimSuffix(group, ":*"), "*") || !own && strings.Contains(resource, "*") {
				f.add("%s may do %v on %s", s.role, s.actions, resource)
			}
		}
	}
	return f
}

// fitting: each role may do what its function does, where it does it.
func fitting(ts templates) (f faults) {
	agents := []string{"HttpAgentArns"} // the queues of all agents, of those in Go one by one
	receive := map[string][]string{"Submission": {"SubmissionsArn"}, "Scheduler": {"SchedulerArn"}, "Supervisor": {"TicksArn"}, "AgentsHttp": {"HttpAgentArns"}}
	send := map[string][]string{"Supervisor": {"RejectedArn", "ResponseQueueArns", "SchedulerArn", "TicksArn"}, "AgentsHttp": {"RejectedArn", "SchedulerArn"}}
	for _, fn := range ts.functions() {
		if name, is := inGo(fn); is {
			agents = append(agents, logical(name)+"Arn")
			receive["Agents"+logical(name)] = []string{logical(name) + "Arn"}
			send["Agents"+logical(name)] = []string{"RejectedArn", "SchedulerArn"}
		}
	}
	for _, role := range []string{"Submission", "Scheduler"} {
		send[role] = sorted(agents, "RejectedArn", "ResponseQueueArns", "SchedulerArn")
	}
	depth := maps.Clone(receive)
	depth["Submission"], depth["Supervisor"] = sorted(agents, "SubmissionsArn"), sorted(agents, "TicksArn")
	want := map[string]map[string][]string{
		"dynamodb:PutItem":       {"Submission": {"OrdersArn", "TasksArn"}, "Scheduler": {"TasksArn"}, "Supervisor": {"TasksArn"}},
		"dynamodb:UpdateItem":    {"Submission": {"OrdersArn", "TasksArn"}, "Scheduler": {"OrdersArn", "TasksArn"}, "Supervisor": {"OrdersArn", "TasksArn"}},
		"dynamodb:GetItem":       {"Submission": {"OrdersArn", "TasksArn"}, "Scheduler": {"OrdersArn", "TasksArn"}, "Supervisor": {"OrdersArn", "TasksArn"}},
		"dynamodb:Query":         {"Submission": {"TasksArn"}, "Scheduler": {"TasksArn"}, "Supervisor": {"${TasksArn}/index/CompleteBy", "TasksArn"}},
		"dynamodb:BatchGetItem":  {"Supervisor": {"TasksArn"}},
		"sns:Publish":            {"Submission": {"AlertsTopic"}, "Scheduler": {"AlertsTopic"}, "Supervisor": {"AlertsTopic"}},
		"sqs:SendMessage":        send,
		"sqs:ReceiveMessage":     receive,
		"sqs:DeleteMessage":      receive,
		"sqs:GetQueueAttributes": depth,
	}
	for _, action := range []string{"logs:CreateLogStream", "logs:PutLogEvents"} {
		want[action] = map[string][]string{}
		for _, fn := range ts.functions() {
			want[action][roleFor(fn)] = []string{streams + fn.name + ":*"}
		}
	}
	for role := range ts.resources(rolesFile, "AWS::IAM::Role") {
		for action, roles := range want {
			if got := ts.granted(role, action); !slices.Equal(got, roles[role]) {
				f.add("%s may do %s on %v, not on %v", role, action, got, roles[role])
			}
		}
	}
	for _, s := range ts.statements() {
		for _, action := range s.actions {
			if want[action] == nil {
				f.add("%s may do %s, which no function does", s.role, action)
			}
		}
	}
	return f
}

// sorted are the words of both, in order.
func sorted(some []string, more ...string) []string {
	all := slices.Concat(some, more)
	slices.Sort(all)
	return all
}

// roleFor is the role of a function, by its name in roles.yaml.
func roleFor(fn function) string {
	return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(at(fn.properties, "Role", "Fn::GetAtt")), "Roles.Outputs."), "Arn")
}

// wired: the ARNs that roles are made of are those of the queues that the
// function consumes, of the tables and of the topic.
func wired(ts templates) (f faults) {
	given := ts.stacks(rolesFile)["Roles"]
	for _, fn := range ts.functions() {
		var got []string
		for _, parameter := range ts.granted(roleFor(fn), "sqs:ReceiveMessage") {
			arns := []any{given[parameter]}
			if joined, is := at(given[parameter], "Fn::Join").([]any); is {
				arns = joined[1].([]any)
			}
			for _, arn := range arns {
				got = append(got, strings.TrimSuffix(fmt.Sprint(at(arn, "Fn::GetAtt")), ".Outputs.Arn"))
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, fn.queues()) {
			f.add("%s may receive from %v and consumes %v", fn.id, got, fn.queues())
		}
	}
	for parameter, want := range map[string]string{
		"TasksArn": "Tables.Outputs.TasksArn", "OrdersArn": "Tables.Outputs.OrdersArn", "RejectedArn": "RejectedQueue.Outputs.Arn",
	} {
		f.is("Roles", given, want, parameter, "Fn::GetAtt")
	}
	f.is("Roles", given, "Alerts", "AlertsTopic", "Ref")
	f.is("Roles", given, "ResponseQueueArns", "ResponseQueueArns", "Ref")
	f.is("Roles", given, "AWS::StackName", "Stack", "Ref")
	return f
}
