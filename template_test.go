package triad_test

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"triad/shared/cloud"
)

// rulesOf are all rules of the templates, by what they ask for.
func rulesOf(t *testing.T, a agentsOf) map[string]rule {
	t.Helper()
	return map[string]rule{
		"a message is invisible for 6 times the timeout of its function": visibility,
		"what is given up on is kept":                                    deadLetters,
		"batches fail one by one, under bounded concurrency":             batches,
		"functions are alike":                                            functionsAreAlike,
		"functions get the variables that they read":                     environment(a),
		"agents are those of agents.yaml":                                agentsAreThose(a),
		"queues and functions have the names that others derive":         names,
		"the command line finds its outputs":                             outputs,
		"parameters are explained":                                       parametersAreExplained,
		"notices go to standard queues":                                  responseQueues,
		"the Supervisor sweeps":                                          sweeps,
		"tables are those of the code, and protected":                    tablesAreThose(created(t)),
		"queues are encrypted":                                           encrypted,
		"what can stop has an alarm":                                     alarms,
		"the dashboard shows every queue and function":                   dashboard,
		"what is referred to exists":                                     references,
		"tools and stand-ins can work with it":                           portable,
		"no role may do more than was thought of":                        exact,
		"roles may do what their functions do":                           fitting,
		"roles speak of the queues that are consumed":                    wired,
	}
}

func TestTheTemplateKeepsTheRules(t *testing.T) {
	t.Parallel()
	for name, holds := range rulesOf(t, agents(t)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, fault := range holds(load(t)) {
				t.Error(fault)
			}
		})
	}
}

// drop takes away what stands at the path of a mutation.
type drop struct{}

// mutations are changes that break a rule: a value at a path of a file.
var mutations = map[string][]struct {
	file, path string
	to         any
}{
	"a message is invisible for 6 times the timeout of its function": {
		{rootFile, "Resources/SchedulerFunction/Properties/Timeout", 21},
		{rootFile, "Resources/PaymentQueue/Properties/Parameters/VisibilityTimeout", 359},
		{rootFile, "Resources/HttpAgentsFunction/Properties/Timeout", drop{}},
	},
	"what is given up on is kept": {
		{queueFile, "Resources/Queue/Properties/RedrivePolicy", drop{}},
		{queueFile, "Resources/Queue/Properties/RedrivePolicy/maxReceiveCount", 3},
		{queueFile, "Resources/Queue/Properties/MessageRetentionPeriod", fortnight},
		{queueFile, "Resources/Dead/Properties/MessageRetentionPeriod", 345600},
		{queueFile, "Resources/Dead/Properties/QueueName", drop{}},
		{rejectFile, "Resources/Queue/Properties/MessageRetentionPeriod", drop{}},
		{rejectFile, "Resources/Queue/Properties/MaximumMessageSize", 262144},
		{rootFile, "Resources/SchedulerQueue/Properties/TemplateURL", rejectFile},
	},
	"batches fail one by one, under bounded concurrency": {
		{rootFile, "Resources/SchedulerFunction/Properties/Events/Messages/Properties/FunctionResponseTypes", drop{}},
		{rootFile, "Resources/PaymentAgentFunction/Properties/Events/Payment/Properties/ScalingConfig", drop{}},
		{rootFile, "Resources/SubmissionFunction/Properties/Events/Submissions/Properties/BatchSize", 100},
		{rootFile, "Resources/SubmissionFunction/Properties/Events", drop{}},
		{rootFile, "Resources/SupervisorFunction/Properties/ReservedConcurrentExecutions", 1},
		{rootFile, "Globals/Function/ReservedConcurrentExecutions", 1},
		{rootFile, "Mappings/Number/50/Is", 5},
		{rootFile, "Mappings/Number/100", drop{}},
	},
	"functions are alike": {
		{rootFile, "Globals/Function/RecursiveLoop", drop{}},
		{rootFile, "Resources/HttpAgentsFunction/Properties/RecursiveLoop", "Terminate"},
		{rootFile, "Globals/Function/LoggingConfig/LogFormat", "Text"},
		{rootFile, "Globals/Function/LoggingConfig/SystemLogLevel", "INFO"},
		{rootFile, "Globals/Function/LoggingConfig/ApplicationLogLevel", "WARN"},
		{rootFile, "Globals/Function/Architectures", drop{}},
		{rootFile, "Globals/Function/Runtime", "go1.x"},
		{rootFile, "Resources/SubmissionFunction/Metadata", drop{}},
		{rootFile, "Resources/SubmissionFunction/Properties/Role", drop{}},
		{rootFile, "Resources/SubmissionFunction/Properties/Policies", "AWSLambdaExecute"},
		{rootFile, "Resources/SubmissionFunction/Properties/CodeUri", "functions/scheduler/"},
		{rootFile, "Resources/SchedulerFunction/Properties/LoggingConfig", drop{}},
		{rootFile, "Resources/SchedulerLogs/Properties/RetentionInDays", drop{}},
	},
	"functions get the variables that they read": {
		{rootFile, "Resources/SubmissionFunction/Properties/Environment/Variables/TRIAD_BACKLOG", drop{}},
		{rootFile, "Resources/SchedulerFunction/Properties/Environment/Variables/TRIAD_BACKLOG", 1},
		{rootFile, "Resources/PaymentAgentFunction/Properties/Environment/Variables/TRIAD_TASKS_TABLE", "Tasks"},
		{rootFile, "Resources/PaymentAgentFunction/Properties/Environment/Variables/SERVICES_URL", drop{}},
		{rootFile, "Globals/Function/Environment/Variables/AWS_NEW_RETRIES_2026", "false"},
		{rootFile, "Globals/Function/Environment/Variables/TRIAD_STACK", drop{}},
	},
	"agents are those of agents.yaml": {
		{rootFile, "Mappings/Agents/All/Names", "inventory,payment"},
		{rootFile, "Resources/DronesQueue", drop{}},
		{rootFile, "Resources/HttpAgentsFunction/Properties/Events/Drones", drop{}},
		{rootFile, "Outputs/AgentDronesQueueUrl", drop{}},
		{rootFile, "Outputs/AgentDronesQueueUrl/Value", object{"Fn::GetAtt": "PaymentQueue.Outputs.Url"}},
	},
	"queues and functions have the names that others derive": {
		{rootFile, "Resources/TicksQueue/Properties/Parameters/Name", object{"Fn::Sub": "${AWS::StackName}-tick"}},
		{rootFile, "Resources/RejectedQueue/Properties/Parameters/Name", "rejected"},
		{rootFile, "Resources/SchedulerFunction/Properties/FunctionName", drop{}},
	},
	"the command line finds its outputs": {
		{rootFile, "Outputs/TasksTable", drop{}},
		{rootFile, "Outputs/RejectedQueueUrl/Value", object{"Fn::GetAtt": "RejectedQueue.Outputs.Arn"}},
		{rootFile, "Outputs/Agents", drop{}},
		{rootFile, "Outputs/Shards/Value", 16},
	},
	"parameters are explained": {
		{rootFile, "Parameters/Shards/Description", drop{}},
		{rootFile, "Parameters/Shards/Default", drop{}},
		{rootFile, "Parameters/Another", object{"Type": "String", "Default": "", "Description": "Nothing."}},
		{rootFile, "Metadata/AWS::CloudFormation::Interface/ParameterLabels/Shards", drop{}},
	},
	"notices go to standard queues": {
		{rootFile, "Parameters/ResponseQueueArns/AllowedPattern", "^$|^arn:[^, ]+(,arn:[^, ]+)*$"},
		{rootFile, "Parameters/ResponseQueueArns/AllowedPattern", drop{}},
	},
	"the Supervisor sweeps": {
		{rootFile, "Parameters/SweepSeconds/AllowedValues", []any{7}},
		{rootFile, "Parameters/SweepSeconds/AllowedValues", drop{}},
		{rootFile, "Resources/SupervisorFunction/Properties/Events/Minute", drop{}},
		{rootFile, "Resources/SupervisorFunction/Properties/Events/Minute/Properties/Schedule", "rate(5 minutes)"},
		{rootFile, "Resources/SupervisorFunction/Properties/Events/Minute/Properties/DeadLetterConfig", drop{}},
		{rootFile, "Resources/SupervisorFunction/Properties/Events/Minute/Properties/RetryPolicy", drop{}},
		{rootFile, "Resources/SupervisorFunction/Properties/Events/Minute/Properties/Name", drop{}},
		{rootFile, "Resources/TicksQueue/Properties/Parameters/Rule", drop{}},
	},
	"tables are those of the code, and protected": {
		{tablesFile, "Resources/Tasks/Properties/GlobalSecondaryIndexes", drop{}},
		{tablesFile, "Resources/Tasks/Properties/BillingMode", "PROVISIONED"},
		{tablesFile, "Resources/Orders/Properties/TimeToLiveSpecification", drop{}},
		{tablesFile, "Resources/Orders/Properties/TimeToLiveSpecification/AttributeName", "TTL"},
		{tablesFile, "Resources/Orders/Properties/SSESpecification", object{"SSEEnabled": false}},
		{tablesFile, "Resources/Tasks/Properties/PointInTimeRecoverySpecification", drop{}},
		{tablesFile, "Resources/Tasks/Properties/DeletionProtectionEnabled", false},
		{tablesFile, "Resources/Orders/DeletionPolicy", drop{}},
		{tablesFile, "Resources/Orders/UpdateReplacePolicy", "Delete"},
		{tablesFile, "Resources/Orders", drop{}},
		{rootFile, "Parameters/Protect/Default", "false"},
	},
	"queues are encrypted": {
		{queueFile, "Resources/Queue/Properties/SqsManagedSseEnabled", drop{}},
		{queueFile, "Resources/Dead/Properties/SqsManagedSseEnabled", false},
		{queueFile, "Resources/DeadPolicy", drop{}},
		{rejectFile, "Resources/Policy", drop{}},
		{rootFile, "Parameters/RequireTLS/Default", "false"},
	},
	"what can stop has an alarm": {
		{queueFile, "Resources/DeadLetters", drop{}},
		{queueFile, "Resources/OldestMessage/Properties/AlarmActions", drop{}},
		{rejectFile, "Resources/Messages", drop{}},
		{alarmsFile, "Resources/SupervisorHeartbeat/Properties/TreatMissingData", "notBreaching"},
		{alarmsFile, "Resources/Doctor/Properties/TreatMissingData", "notBreaching"},
		{alarmsFile, "Resources/Doctor", drop{}},
		{rootFile, "Resources/Alarms/DependsOn", drop{}},
		{alarmsFile, "Resources/Overdue", drop{}},
		{alarmsFile, "Resources/SchedulerRecursion", drop{}},
		{alarmsFile, "Resources/PaymentAgentThrottles/Properties/MetricName", "Errors"},
		{alarmsFile, "Resources/IndexWrites", drop{}},
		{alarmsFile, "Resources/Overdue/Properties/Metrics", "m1 - m2"},
		{rootFile, "Resources/Alarms/Properties/Parameters/AlertsTopic", "arn:aws:sns:another"},
	},
	"the dashboard shows every queue and function": {
		{rootFile, "Resources/AnotherQueue", object{"Type": "AWS::CloudFormation::Stack", "Properties": object{"TemplateURL": queueFile,
			"Parameters": object{"Name": object{"Fn::Sub": "${AWS::StackName}-agent-another"}}}}},
		{rootFile, "Resources/PaymentAgentFunction/Properties/FunctionName", object{"Fn::Sub": "${AWS::StackName}-agents-another"}},
		{boardFile, "Resources/Dashboard/Properties/DashboardBody/Fn::Sub", `{"widgets": []}`},
	},
	"what is referred to exists": {
		{rootFile, "Resources/Tables", drop{}},
		{queueFile, "Outputs/DeadArn", drop{}},
		{rootFile, "Parameters/Shards", drop{}},
		{rootFile, "Resources/DronesQueue/Properties/Parameters/AlertsTopic", drop{}},
		{rootFile, "Resources/DronesQueue/Properties/Parameters/Colour", "red"},
	},
	"tools and stand-ins can work with it": {
		{rootFile, "Resources/Fn::ForEach::Agents", []any{}},
		{rootFile, "Resources/SupervisorFunction/Properties/Events/Minute/Type", "ScheduleV2"},
		{rootFile, "Parameters/ResponseQueueArns/Type", "CommaDelimitedList"},
		{rootFile, "Resources/DashboardPage/Condition", drop{}},
	},
	"no role may do more than was thought of": {
		{rolesFile, "Resources/Submission/Properties/ManagedPolicyArns", []any{"AWSLambdaExecute"}},
		{rolesFile, "Resources/AgentsHttp/Properties/Policies/0/PolicyDocument/Statement/1/Action", "sqs:*"},
		{rolesFile, "Resources/AgentsHttp/Properties/Policies/0/PolicyDocument/Statement/1/Resource", "*"},
		{rolesFile, "Resources/AgentsHttp/Properties/Policies/0/PolicyDocument/Statement/2/Resource", object{"Fn::Sub": streams + "*:*"}},
		{rolesFile, "Resources/Scheduler/Properties/Policies/0/PolicyDocument/Statement/1/Action", []any{"dynamodb:Scan"}},
		{rolesFile, "Resources/Scheduler/Properties/Policies/0/PolicyDocument/Statement/1/Action", []any{"dynamodb:DeleteItem"}},
		{rolesFile, "Resources/Scheduler/Properties/Policies/0/PolicyDocument/Statement/1/Action", "dynamodb:DeleteTable"},
		{rolesFile, "Resources/Scheduler/Properties/Policies/0/PolicyDocument/Statement/1/NotResource", "x"},
	},
	"roles may do what their functions do": {
		{rolesFile, "Resources/AgentsPayment/Properties/Policies/0/PolicyDocument/Statement/1/Action", []any{"dynamodb:GetItem"}},
		{rolesFile, "Resources/Scheduler/Properties/Policies/0/PolicyDocument/Statement/1/Action", []any{"dynamodb:PutItem"}},
		{rolesFile, "Resources/Supervisor/Properties/Policies/0/PolicyDocument/Statement/1/Resource", object{"Ref": "TasksArn"}},
		{rolesFile, "Resources/Supervisor/Properties/Policies/0/PolicyDocument/Statement/1/Action", "dynamodb:DescribeTable"},
		{rolesFile, "Resources/AgentsHttp/Properties/Policies/0/PolicyDocument/Statement/2/Resource", object{"Fn::Sub": streams + "scheduler:*"}},
	},
	"roles speak of the queues that are consumed": {
		{rootFile, "Resources/Roles/Properties/Parameters/TicksArn", object{"Fn::GetAtt": "SchedulerQueue.Outputs.Arn"}},
		{rootFile, "Resources/Roles/Properties/Parameters/HttpAgentArns/Fn::Join/1", []any{}},
		{rootFile, "Resources/Roles/Properties/Parameters/TasksArn", object{"Fn::GetAtt": "Tables.Outputs.OrdersArn"}},
		{rootFile, "Resources/SchedulerFunction/Properties/Role", object{"Fn::GetAtt": "Roles.Outputs.SupervisorArn"}},
	},
}

// mutate sets or drops the value at a path, in which numbers stand for places in
// lists. It reports whether there was anything to change.
func mutate(in any, path []string, to any) bool {
	switch in := in.(type) {
	case object:
		_, found := in[path[0]]
		switch _, gone := to.(drop); {
		case len(path) > 1:
			return mutate(in[path[0]], path[1:], to)
		case gone:
			delete(in, path[0])
			return found
		}
		in[path[0]] = to
		return true
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(in) {
			return false
		}
		if len(path) > 1 {
			return mutate(in[i], path[1:], to)
		}
		in[i] = to
		return true
	}
	return false
}

func TestEachRuleCanFail(t *testing.T) {
	t.Parallel()
	rules, sound := rulesOf(t, agents(t)), load(t)
	for name, holds := range rules {
		if len(mutations[name]) == 0 {
			t.Errorf("nothing shows that this rule can fail: %s", name)
		}
		for _, m := range mutations[name] {
			ts := maps.Clone(sound)
			ts[m.file] = copied(sound[m.file]).(object)
			if !mutate(ts[m.file], strings.Split(m.path, "/"), m.to) {
				t.Errorf("%s has no %s", m.file, m.path)
			}
			if len(holds(ts)) == 0 {
				t.Errorf("%s: %v at %s of %s is no fault", name, m.to, m.path, m.file)
			}
		}
	}
	for name := range mutations {
		if rules[name] == nil {
			t.Errorf("mutations of %q, which is no rule", name)
		}
	}
}

// TestOperatorsAreToldWhatToDoAboutEachAlarmOfTheTemplate: the page has a row for
// each, by its name; functions and queues share theirs.
func TestOperatorsAreToldWhatToDoAboutEachAlarmOfTheTemplate(t *testing.T) {
	t.Parallel()
	all := load(t)
	for file := range all {
		for id, a := range all.resources(file, "AWS::CloudWatch::Alarm") {
			name := at(a, "Properties", "AlarmName")
			row := "`STACK-" + afterStack(name) + "`"
			for _, fn := range all.functions() {
				if rest, is := strings.CutPrefix(afterStack(name), fn.name+"-"); is && at(a, "Properties", "Namespace") == "AWS/Lambda" {
					row = "`STACK-FUNCTION-" + rest + "`"
					says(t, "operations.md", "`"+fn.name+"`")
				}
			}
			switch file {
			case queueFile:
				row = "`STACK-QUEUE" + strings.TrimPrefix(fmt.Sprint(at(name, "Fn::Sub")), "${Name}") + "`"
			case rejectFile:
				row = "`STACK-" + afterStack(all.stacks(rejectFile)["RejectedQueue"]["Name"]) + "`"
			}
			if !hasRow(t, "operations.md", row) {
				t.Errorf("docs/operations.md has no row that begins with %s, for %s of %s", row, id, file)
			}
		}
	}
}

// hasRow: a table of a page has a row with this in its first column.
func hasRow(t *testing.T, page, cell string) bool {
	t.Helper()
	text, err := os.ReadFile("docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(line, "|")
		if len(columns) > 3 && strings.Contains(columns[1], cell) {
			return true
		}
	}
	return false
}

// TestTheTemplateKeepsMessagesAsLongAsThePromiseSays: a submission that no function
// takes is deleted by SQS, and the pages say when.
func TestTheTemplateKeepsMessagesAsLongAsThePromiseSays(t *testing.T) {
	t.Parallel()
	days := func(id string) int {
		return at(load(t)[queueFile], "Resources", id, "Properties", "MessageRetentionPeriod").(int) / 86400
	}
	says(t, "guarantees.md", fmt.Sprintf("deletes it %d days after it was sent, or as a dead letter after %d", days("Queue"), days("Dead")))
	says(t, "operations.md", fmt.Sprintf("within %d days of their submission", days("Dead")))
}

// TestTheBillIsOfThisTemplate: what the document says a deployment costs idle is
// counted of as many queues and alarms as the template has, and its looks at queues
// are those that Submission makes.
func TestTheBillIsOfThisTemplate(t *testing.T) {
	t.Parallel()
	all := load(t)
	queues, alarms := 0, 0
	for file := range all {
		times := 1
		if file == queueFile {
			times = len(all.stacks(queueFile))
			queues = times
		}
		alarms += times * len(all.resources(file, "AWS::CloudWatch::Alarm"))
	}
	bill, err := os.ReadFile("docs/cost.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		fmt.Sprintf("polling by event sources: %d queues", queues), fmt.Sprintf("alarms: %d alarms", alarms),
		fmt.Sprintf("asks the %d agents' queues how much waits, once in %d orders", len(agents(t).names), cloud.LookAfter),
	} {
		if !strings.Contains(string(bill), line) {
			t.Errorf("docs/cost.md does not say %q: count again, with the defaults of infra/cost corrected", line)
		}
	}
}
