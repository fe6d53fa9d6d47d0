package triad_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"triad/shared/store/dynamostore"
)

// recorder hears what CreateTables asks for. Every table exists at once.
type recorder struct {
	tables map[string]*dynamodb.CreateTableInput
	expiry map[string]*types.TimeToLiveSpecification
}

func (r *recorder) CreateTable(_ context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	r.tables[*in.TableName] = in
	return &dynamodb.CreateTableOutput{}, nil
}

func (r *recorder) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{TableStatus: types.TableStatusActive}}, nil
}

func (r *recorder) UpdateTimeToLive(_ context.Context, in *dynamodb.UpdateTimeToLiveInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	r.expiry[*in.TableName] = in.TimeToLiveSpecification
	return &dynamodb.UpdateTimeToLiveOutput{}, nil
}

// created are the properties of the tables that the code makes for itself.
func created(t *testing.T) object {
	t.Helper()
	r := &recorder{tables: map[string]*dynamodb.CreateTableInput{}, expiry: map[string]*types.TimeToLiveSpecification{}}
	if err := dynamostore.CreateTables(t.Context(), r, dynamostore.Config{}); err != nil {
		t.Fatal(err)
	}
	keys := func(schema []types.KeySchemaElement) (all []any) {
		for _, k := range schema {
			all = append(all, object{"AttributeName": *k.AttributeName, "KeyType": string(k.KeyType)})
		}
		return all
	}
	all := object{}
	for name, in := range r.tables {
		p := object{"BillingMode": string(in.BillingMode), "KeySchema": keys(in.KeySchema)}
		var attributes, indexes []any
		for _, a := range in.AttributeDefinitions {
			attributes = append(attributes, object{"AttributeName": *a.AttributeName, "AttributeType": string(a.AttributeType)})
		}
		for _, g := range in.GlobalSecondaryIndexes {
			indexes = append(indexes, object{"IndexName": *g.IndexName, "KeySchema": keys(g.KeySchema),
				"Projection": object{"ProjectionType": string(g.Projection.ProjectionType)}})
		}
		p["AttributeDefinitions"] = attributes
		if indexes != nil {
			p["GlobalSecondaryIndexes"] = indexes
		}
		if ttl := r.expiry[name]; ttl != nil {
			p["TimeToLiveSpecification"] = object{"AttributeName": *ttl.AttributeName, "Enabled": *ttl.Enabled}
		}
		all[name] = p
	}
	return all
}

// tablesAreThose: the tables are as the code expects them, and besides can be
// brought back to any moment, refuse to be deleted and outlive the stack.
func tablesAreThose(want object) rule {
	return func(ts templates) (f faults) {
		got := object{}
		protected := []any{"Protected", "Retain", "Delete"}
		for name, r := range ts.resources(tablesFile, "AWS::DynamoDB::Table") {
			p := maps.Clone(within(r, "Properties"))
			f.is(name, p, true, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled")
			f.is(name, p, []any{"Protected", true, false}, "DeletionProtectionEnabled", "Fn::If")
			f.is(name, r, protected, "DeletionPolicy", "Fn::If")
			f.is(name, r, protected, "UpdateReplacePolicy", "Fn::If")
			delete(p, "PointInTimeRecoverySpecification")
			delete(p, "DeletionProtectionEnabled")
			got[name] = p
		}
		if diff := cmp.Diff(want, got); diff != "" {
			f.add("tables (-code +template):\n%s", diff)
		}
		f.is(rootFile, ts[rootFile], "true", "Parameters", "Protect", "Default")
		return f
	}
}

// encrypted: every queue encrypts what it keeps, and refuses plain calls.
// DynamoDB encrypts always.
func encrypted(ts templates) (f faults) {
	for file := range ts {
		refused := map[string]bool{}
		for _, p := range ts.resources(file, "AWS::SQS::QueuePolicy") {
			statements, _ := at(p, "Properties", "PolicyDocument", "Statement").([]any)
			for _, s := range statements {
				if choice, is := at(s, "Fn::If").([]any); is {
					s = choice[1]
				}
				if at(s, "Effect") == "Deny" && at(s, "Condition", "Bool", "aws:SecureTransport") == "false" {
					refused[fmt.Sprint(at(s, "Resource", "Fn::GetAtt"))] = true
				}
			}
		}
		for id, q := range ts.resources(file, "AWS::SQS::Queue") {
			f.is(file+" "+id, q, true, "Properties", "SqsManagedSseEnabled")
			if !refused[id+".Arn"] {
				f.add("%s: %s takes calls without TLS", file, id)
			}
		}
	}
	f.is(rootFile, ts[rootFile], "true", "Parameters", "RequireTLS", "Default")
	return f
}

// alarms: everything that can stop tells operators so.
func alarms(ts templates) (f faults) {
	watched := map[string]bool{}
	for file := range ts {
		for id, a := range ts.resources(file, "AWS::CloudWatch::Alarm") {
			f.is(file+" "+id, a, "[map[Ref:AlertsTopic]]", "Properties", "AlarmActions")
			if at(a, "Properties", "Metrics") != nil {
				f.add("%s: %s is metric math, which stand-ins refuse", file, id)
			}
			dimensions, _ := at(a, "Properties", "Dimensions").([]any)
			key := fmt.Sprint(at(a, "Properties", "MetricName"))
			for _, d := range dimensions {
				v := at(d, "Value")
				for _, how := range []string{"Fn::Sub", "Fn::GetAtt", "Ref"} {
					if to := at(v, how); to != nil {
						v = to
					}
				}
				key += fmt.Sprint(" ", v)
			}
			watched[key] = true
		}
	}
	want := []string{
		"ApproximateNumberOfMessagesVisible Dead.QueueName", "ApproximateAgeOfOldestMessage Queue.QueueName",
		"ApproximateNumberOfMessagesVisible Queue.QueueName", "Sweeps Stack supervisor", "OverdueSeconds Stack supervisor",
		"DoctorFindings Stack supervisor",
		"WriteThrottleEvents Tasks", "ReadThrottleEvents Tasks", "WriteThrottleEvents Tasks CompleteBy", "WriteThrottleEvents Orders",
	}
	for _, fn := range ts.functions() {
		for _, metric := range []string{"Errors", "Throttles", "RecursiveInvocationsDropped"} {
			want = append(want, metric+" ${Stack}-"+fn.name)
		}
	}
	for _, key := range want {
		if !watched[key] {
			f.add("no alarm watches %s", key)
		}
	}
	f.is(alarmsFile, ts[alarmsFile], "breaching", "Resources", "SupervisorHeartbeat", "Properties", "TreatMissingData")
	f.is(alarmsFile, ts[alarmsFile], "ignore", "Resources", "Doctor", "Properties", "TreatMissingData")
	f.is(rootFile, ts[rootFile], "SupervisorFunction", "Resources", "Alarms", "DependsOn")
	for _, file := range []string{queueFile, rejectFile, alarmsFile} {
		for id, p := range ts.stacks(file) {
			f.is(id, p, "Alerts", "AlertsTopic", "Ref")
		}
	}
	return f
}

// references: what is referred to exists, and nested stacks get the parameters
// that they ask for.
func references(ts templates) (f faults) {
	for file, doc := range ts {
		known := func(name string) bool {
			return strings.HasPrefix(name, "AWS::") || at(doc, "Resources", name) != nil || at(doc, "Parameters", name) != nil
		}
		walk(doc, file, func(path string, o object) {
			if name, is := o["Ref"].(string); is && !known(name) {
				f.add("%s refers to %s, which does not exist", path, name)
			}
			if target, is := o["Fn::GetAtt"].(string); is {
				id, attribute, _ := strings.Cut(target, ".")
				nested, _ := at(doc, "Resources", id, "Properties", "TemplateURL").(string)
				output, ofStack := strings.CutPrefix(attribute, "Outputs.")
				if !known(id) || ofStack && at(ts[nested], "Outputs", output) == nil {
					f.add("%s refers to %s, which does not exist", path, target)
				}
			}
		})
		for id, r := range ts.resources(file, "AWS::CloudFormation::Stack") {
			nested := ts[fmt.Sprint(at(r, "Properties", "TemplateURL"))]
			given := within(r, "Properties", "Parameters")
			for name, p := range within(nested, "Parameters") {
				if given[name] == nil && at(p, "Default") == nil {
					f.add("%s: %s is not given %s", file, id, name)
				}
			}
			for name := range given {
				if at(nested, "Parameters", name) == nil {
					f.add("%s: %s is given %s, which it does not know", file, id, name)
				}
			}
		}
	}
	return f
}

// portable: nothing that the tools or stand-ins of AWS can't work with.
func portable(ts templates) (f faults) {
	for file, doc := range ts {
		walk(doc, file, func(path string, o object) {
			for key, v := range o {
				if strings.HasPrefix(key, "Fn::ForEach") {
					f.add("%s: SAM CLI can't expand %s", path, key)
				}
				if key == "Type" && slices.Contains([]any{"ScheduleV2", "AWS::CloudWatch::CompositeAlarm"}, v) {
					f.add("%s: stand-ins have no %v", path, v)
				}
			}
		})
	}
	for name, p := range within(ts[rootFile], "Parameters") {
		if at(p, "Type") == "CommaDelimitedList" && at(ts[rootFile], "Outputs", name) != nil {
			f.add("parameter %s is a list and an output's name, too, which crashes SAM CLI", name)
		}
	}
	f.is(rootFile, ts[rootFile], "HasDashboard", "Resources", "DashboardPage", "Condition")
	return f
}
