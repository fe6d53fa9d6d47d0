// Package cloudtest is a deployment on the stand-ins of AWS, for tests: its queues
// and tables are real, its functions run in the process of the test, made as their
// main packages make them. Nothing happens by itself: Turn and Settle play Lambda.
package cloudtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

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

// region and account are those of everything in the stand-ins.
const (
	region  = "us-east-1"
	account = "000000000000"
)

// Agents are the agents of a Deployment: those of workflows/agents.yaml.
func Agents() []string {
	return []string{"inventory", "payment", "shipping", "notification", "accounts", "packages", "transports", "drones", "deliveries"}
}

// Deployment is a stack. Its methods may be called one after the other.
type Deployment struct {
	*standin.Front
	// Name is the stack's. It has 2 shards, and the response queue shop.
	Name string
	// Services are the reference services that the agents call.
	Services remote.Client
	// SQS and DynamoDB are clients of the stand-ins, not of the Front; Store
	// reads and writes the tables.
	SQS      *sqs.Client
	DynamoDB *dynamodb.Client
	Store    *dynamostore.Store
	// Tables are the names of the tables.
	Tables dynamostore.Config
	// Out is what the functions wrote.
	Out bytes.Buffer

	env    map[string]string
	behind map[string]trigger.Function // by queue
	ticker trigger.Function
}

// New makes a deployment without a task. Where the stand-ins are not installed,
// the test is skipped, or fails with CI=true.
func New(t testing.TB) *Deployment {
	t.Helper()
	d := &Deployment{Front: standin.NewFront(t), Name: "t" + strings.ToLower(rand.Text()[:8]), behind: map[string]trigger.Function{}}
	services := httptest.NewServer(remote.New(remote.Config{}))
	t.Cleanup(services.Close)
	d.Services = remote.Client{BaseURL: services.URL}
	d.SQS = sqs.NewFromConfig(standin.Caller(standin.ElasticMQ(t)))
	d.DynamoDB = dynamodb.NewFromConfig(standin.Caller(standin.DynamoDB(t)))
	d.Tables = dynamostore.Config{Tasks: d.Name + "-Tasks", Orders: d.Name + "-Orders", Shards: 2}
	if err := dynamostore.CreateTables(t.Context(), d.DynamoDB, d.Tables); err != nil {
		t.Fatal(err)
	}
	d.Store = dynamostore.New(d.DynamoDB, d.Tables)
	d.describe(d.makeQueues(t))
	d.start(t)
	return d
}

// makeQueues makes every queue, and returns the URL of the scheduler's.
func (d *Deployment) makeQueues(t testing.TB) (scheduler string) {
	t.Helper()
	names := []string{"submissions", "scheduler", "ticks"}
	for _, name := range Agents() {
		names = append(names, "agent-"+name)
	}
	for _, name := range names {
		names = append(names, name+"-dead")
	}
	for _, name := range append(names, "rejected", "shop") {
		made, err := d.SQS.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(d.Name + "-" + name), Attributes: map[string]string{"VisibilityTimeout": "5"}})
		if err != nil {
			t.Fatal(err)
		}
		if name == "scheduler" {
			scheduler = *made.QueueUrl
		}
	}
	return scheduler
}

// describe makes the environment of the functions, and the outputs of the stack.
func (d *Deployment) describe(scheduler string) {
	d.env = map[string]string{
		"AWS_REGION": region, "AWS_ENDPOINT_URL": d.URL, "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		settings.Stack: d.Name, settings.TasksTable: d.Tables.Tasks, settings.OrdersTable: d.Tables.Orders, settings.Shards: "2",
		settings.KeepDays: "90", settings.SchedulerQueue: scheduler, settings.Agents: strings.Join(Agents(), ","),
		settings.ResponseQueues: "arn:aws:sqs:" + region + ":" + account + ":" + d.Name + "-shop",
		settings.AlertsTopic:    "arn:aws:sns:" + region + ":" + account + ":" + d.Name + "-alerts",
		settings.SweepSeconds:   "15", settings.Backlog: "2000", "SERVICES_URL": d.Services.BaseURL,
	}
	d.Deploy(d.Name, d.Outputs())
}

// Outputs are those of the stack.
func (d *Deployment) Outputs() map[string]string {
	return map[string]string{
		"TasksTable": d.Tables.Tasks, "OrdersTable": d.Tables.Orders, "SchedulerQueueUrl": d.env[settings.SchedulerQueue],
		"Agents": d.env[settings.Agents], "AlertsTopic": d.env[settings.AlertsTopic], "Shards": "2", "RetentionDays": "90",
		"ResponseQueueArns": d.env[settings.ResponseQueues],
	}
}

// start makes the functions as their main packages do.
func (d *Deployment) start(t testing.TB) {
	t.Helper()
	env := function.Environment{Lookup: func(name string) (string, bool) { v, found := d.env[name]; return v, found }, Workflows: workflows.FS, Out: &d.Out}
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
	for _, name := range Agents() {
		d.behind["agent-"+name] = http
	}
	work, err := payment.New(payment.Config{URL: d.Services.BaseURL})
	if err != nil {
		t.Fatal(err)
	}
	d.behind["agent-payment"] = must(function.Agent(env, "payment", work.Call))
}

// Queue is the URL of a queue, by its name without the stack's.
func (d *Deployment) Queue(name string) *string {
	return aws.String(strings.TrimSuffix(d.env[settings.SchedulerQueue], "scheduler") + name)
}

// Send sends messages to a queue.
func (d *Deployment) Send(t testing.TB, queue string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if _, err := d.SQS.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: d.Queue(queue), MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
	}
}

// Receive receives up to 10 messages of a queue.
func (d *Deployment) Receive(t testing.TB, queue string) []types.Message {
	t.Helper()
	out, err := d.SQS.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: d.Queue(queue), MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Messages
}

// Pump is an event source of Lambda: it hands what is in a queue to the function
// behind it, and deletes what did not fail.
func (d *Deployment) Pump(t testing.TB, queue string) {
	t.Helper()
	messages := d.Receive(t, queue)
	if len(messages) == 0 {
		return
	}
	var records []map[string]any
	for _, m := range messages {
		records = append(records, map[string]any{
			"messageId": m.MessageId, "receiptHandle": m.ReceiptHandle, "body": m.Body, "attributes": m.Attributes,
			"eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:" + region + ":" + account + ":" + d.Name + "-" + queue,
		})
	}
	failed := d.invoke(t, d.behind[queue], map[string]any{"Records": records})
	for _, m := range messages {
		if slices.Contains(failed, *m.MessageId) {
			continue
		}
		if _, err := d.SQS.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: d.Queue(queue), ReceiptHandle: m.ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
	}
}

// invoke invokes a function, and returns the ids of the messages that failed.
func (d *Deployment) invoke(t testing.TB, f trigger.Function, event any) (failed []string) {
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

// Tick invokes the Supervisor as the schedule does.
func (d *Deployment) Tick(t testing.TB) {
	t.Helper()
	d.invoke(t, d.ticker, map[string]any{"detail-type": "Scheduled Event", "source": "aws.events", "detail": map[string]any{}})
}

// Turn hands what is in each queue to the function behind it, once.
func (d *Deployment) Turn(t testing.TB) {
	t.Helper()
	for queue := range d.behind {
		d.Pump(t, queue)
	}
}

// Settle plays Lambda until every one of the tasks has ended, with a tick of the
// schedule now and then.
func (d *Deployment) Settle(t testing.TB, tasks ...task.ID) {
	t.Helper()
	for end, rounds := time.Now().Add(time.Minute), 0; ; rounds++ {
		d.Turn(t)
		if rounds%5 == 4 {
			d.Tick(t)
		}
		left := 0
		for _, id := range tasks {
			if got, err := d.Store.Load(t.Context(), id); err != nil || !got.State.Finished() {
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
