package cloud_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"triad/infra/standin"
	"triad/shared/agent/payment"
	"triad/shared/cloud"
	"triad/shared/function"
	"triad/shared/remote"
	"triad/shared/settings"
	"triad/shared/store/dynamostore"
	"triad/shared/task"
	"triad/shared/trigger"
	"triad/workflows"
)

// deployment is a stack: its queues and tables on the stand-ins, its functions in
// this process.
type deployment struct {
	*standin.Front
	name     string
	env      map[string]string
	services *httptest.Server
	sqs      *sqs.Client
	store    *dynamostore.Store
	behind   map[string]trigger.Function // by queue
	ticker   trigger.Function
	out      bytes.Buffer
}

var agentNames = []string{"inventory", "payment", "shipping", "notification"}

func deploy(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{Front: standin.NewFront(t), name: "t" + strings.ToLower(rand.Text()[:8]), behind: map[string]trigger.Function{}}
	d.services = httptest.NewServer(remote.New(remote.Config{}))
	t.Cleanup(d.services.Close)
	c := aws.Config{Region: "us-east-1", BaseEndpoint: &d.URL, Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
	})}
	d.sqs = sqs.NewFromConfig(c)
	tables := dynamostore.Config{Tasks: d.name + "-Tasks", Orders: d.name + "-Orders", Shards: 2}
	if err := dynamostore.CreateTables(t.Context(), dynamodb.NewFromConfig(c), tables); err != nil {
		t.Fatal(err)
	}
	d.store = dynamostore.New(dynamodb.NewFromConfig(c), tables)
	names := []string{"submissions", "scheduler", "ticks", "rejected", "shop"}
	for _, name := range agentNames {
		names = append(names, "agent-"+name)
	}
	var scheduler string
	for _, name := range names {
		made, err := d.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(d.name + "-" + name), Attributes: map[string]string{"VisibilityTimeout": "5"}})
		if err != nil {
			t.Fatal(err)
		}
		if name == "scheduler" {
			scheduler = *made.QueueUrl
		}
	}
	d.env = map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": d.URL, "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		settings.Stack: d.name, settings.TasksTable: tables.Tasks, settings.OrdersTable: tables.Orders, settings.Shards: "2",
		settings.KeepDays: "90", settings.SchedulerQueue: scheduler, settings.Agents: strings.Join(agentNames, ",") + ",accounts,packages,transports,drones,deliveries",
		settings.ResponseQueues: "arn:aws:sqs:us-east-1:000000000000:" + d.name + "-shop", settings.AlertsTopic: "arn:aws:sns:us-east-1:000000000000:alerts",
		settings.SweepSeconds: "15", settings.Backlog: "2000", "SERVICES_URL": d.services.URL,
	}
	d.start(t)
	return d
}

// start makes the functions as their main packages do.
func (d *deployment) start(t *testing.T) {
	t.Helper()
	env := function.Environment{Lookup: func(name string) (string, bool) { v, found := d.env[name]; return v, found }, Workflows: workflows.FS, Out: &d.out}
	must := func(f trigger.Function, err error) trigger.Function {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	d.behind["submissions"] = must(cloud.Submission(t.Context(), env))
	d.behind["scheduler"] = must(cloud.Scheduler(t.Context(), env))
	d.ticker = must(cloud.Supervisor(t.Context(), env))
	d.behind["ticks"] = d.ticker
	http := must(function.Agents(env))
	for _, name := range agentNames {
		d.behind["agent-"+name] = http
	}
	work, err := payment.New(payment.Config{URL: d.services.URL})
	if err != nil {
		t.Fatal(err)
	}
	d.behind["agent-payment"] = must(function.Agent(env, "payment", work.Call))
}

func (d *deployment) at(queue string) *string {
	return aws.String(strings.TrimSuffix(d.env[settings.SchedulerQueue], "scheduler") + queue)
}

func (d *deployment) send(t *testing.T, queue string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if _, err := d.sqs.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: d.at(queue), MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
	}
}

func (d *deployment) receive(t *testing.T, queue string) []types.Message {
	t.Helper()
	out, err := d.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: d.at(queue), MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Messages
}

// pump is an event source of Lambda: it hands what is in a queue to the function
// behind it, and deletes what did not fail.
func (d *deployment) pump(t *testing.T, queue string) {
	t.Helper()
	messages := d.receive(t, queue)
	if len(messages) == 0 {
		return
	}
	var records []map[string]any
	for _, m := range messages {
		records = append(records, map[string]any{
			"messageId": m.MessageId, "receiptHandle": m.ReceiptHandle, "body": m.Body, "attributes": m.Attributes,
			"eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:" + d.name + "-" + queue,
		})
	}
	failed := d.invoke(t, d.behind[queue], map[string]any{"Records": records})
	for _, m := range messages {
		if slices.Contains(failed, *m.MessageId) {
			continue
		}
		if _, err := d.sqs.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: d.at(queue), ReceiptHandle: m.ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
	}
}

func (d *deployment) invoke(t *testing.T, f trigger.Function, event any) (failed []string) {
	t.Helper()
	payload, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	answer, err := f.Invoke(ctx, payload)
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		BatchItemFailures []struct{ ItemIdentifier string }
	}
	if err := json.Unmarshal(answer, &told); err != nil {
		t.Fatal(err)
	}
	for _, f := range told.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}
	return failed
}

var minute = map[string]any{"detail-type": "Scheduled Event", "source": "aws.events", "detail": map[string]any{}}

// settle plays Lambda until every task has ended, with a tick of the schedule now
// and then.
func (d *deployment) settle(t *testing.T, want map[task.ID]task.State) {
	t.Helper()
	for end, rounds := time.Now().Add(time.Minute), 0; ; rounds++ {
		for queue := range d.behind {
			d.pump(t, queue)
		}
		if rounds%5 == 4 {
			d.invoke(t, d.ticker, minute)
		}
		left := 0
		for id := range want {
			if got, err := d.store.Load(t.Context(), id); err != nil || !got.State.Finished() {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d tasks have not ended after a minute", left)
		}
	}
}

func order(id, more string) string {
	return fmt.Sprintf(`{"id": %q, "workflow": "order", "responseQueue": "shop", "order": {"customer": "Ada", "items": [{"sku": "tea", "quantity": 1}], "total": 10}%s}`, id, more)
}

// TestTheFunctionsBringOrdersToTheirEnds: the five functions, made as their main
// packages make them, between real queues and tables.
func TestTheFunctionsBringOrdersToTheirEnds(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	faults := map[string]remote.Faults{
		"inventory":    {Rules: []remote.Rule{{Match: "late-*", Hang: true, Times: 1}}},
		"payment":      {Rules: []remote.Rule{{Match: "declined-*", Refuse: true}}},
		"notification": {Rules: []remote.Rule{{Match: "unreachable-*", Refuse: true}}},
	}
	for service, f := range faults {
		if err := (remote.Client{BaseURL: d.services.URL}).SetFaults(t.Context(), service, f); err != nil {
			t.Fatal(err)
		}
	}
	want := map[task.ID]task.State{}
	for name, state := range map[string]task.State{"good": task.Processed, "late": task.Processed, "declined": task.Compensated, "unreachable": task.Error} {
		for i := range 3 {
			id := task.ID(fmt.Sprintf("%s-%d", name, i))
			want[id] = state
			d.send(t, "submissions", order(string(id), ""))
		}
	}
	d.send(t, "submissions", order("good-0", ""), "not JSON", order("nobody-1", `, "responseQueue": "elsewhere"`))
	d.settle(t, want)
	got := map[task.ID]task.State{}
	for id := range want {
		found, err := d.store.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		got[id] = found.State
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ends (-want +got):\n%s\n%s", diff, d.out.String())
	}
	d.checkWhatWasTold(t)
	d.checkEffects(t)
}

// checkWhatWasTold: notices in the response queue, an alert for each task that
// needs a person, what could not be read in the rejected queue, metrics in the
// log, and the name of each function in its calls.
func (d *deployment) checkWhatWasTold(t *testing.T) {
	t.Helper()
	d.pump(t, "submissions")
	notices := map[string]bool{}
	for found := d.receive(t, "shop"); len(found) > 0; found = d.receive(t, "shop") {
		for _, m := range found {
			var n task.Notice
			if err := json.Unmarshal([]byte(*m.Body), &n); err != nil {
				t.Fatal(err)
			}
			notices[string(n.Task)+" "+n.Status] = true
		}
	}
	for _, n := range []string{"good-1 Received", "good-1 Processed", "declined-2 Compensated", "unreachable-0 Error", "late-0 Processed"} {
		if !notices[n] {
			t.Errorf("nobody was told %s", n)
		}
	}
	reasons := map[string]string{}
	for _, m := range d.receive(t, "rejected") {
		reasons[*m.Body] = aws.ToString(m.MessageAttributes["Reason"].StringValue)
	}
	if len(reasons) != 2 || reasons["not JSON"] == "" {
		t.Errorf("rejected %v, want two, one of them not JSON", reasons)
	}
	alerts := map[task.ID]bool{}
	for _, text := range d.Published() {
		var a task.Alert
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err)
		}
		alerts[a.Task] = true
	}
	if got, want := slices.Sorted(maps.Keys(alerts)), []task.ID{"unreachable-0", "unreachable-1", "unreachable-2"}; !slices.Equal(got, want) {
		t.Errorf("alerts for %v, want %v", got, want)
	}
	callers := map[string]bool{}
	for _, c := range d.Calls() {
		callers[c.By] = true
	}
	for _, name := range []string{"triad-submission", "triad-scheduler", "triad-supervisor", "triad-agents-http", "triad-agents-payment"} {
		if !callers[name] {
			t.Errorf("no call names %s; there are %v", name, callers)
		}
	}
	for _, metric := range []string{`"TasksProcessed"`, `"Sweeps"`, `"AgentCalls"`} {
		if !strings.Contains(d.out.String(), metric) {
			t.Errorf("no line has the metric %s", metric)
		}
	}
}

// checkEffects: each service holds one effect of an order, or none when it was
// undone.
func (d *deployment) checkEffects(t *testing.T) {
	t.Helper()
	for _, service := range agentNames {
		effects, err := remote.Client{BaseURL: d.services.URL}.Effects(t.Context(), service)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range effects {
			if e.Applied > 1 || (e.Stands() && strings.HasPrefix(e.ID, "declined")) {
				t.Errorf("%s holds %+v", service, e)
			}
		}
	}
}
