package orders

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/cmd/triad/demo"
	"triad/infra/local/cloud"
	"triad/shared/api"
	"triad/shared/outlet"
	"triad/shared/store/dynamostore"
	"triad/shared/task"
)

// World is what some orders came to. It is a demo.World; orders of others are
// passed over.
type World struct {
	cloud  *cloud.Cloud
	tasks  string // the table
	store  *dynamostore.Store
	inbox  *outlet.Inbox
	ours   map[task.ID]bool
	before int64 // the number of the last message that was rejected before
	alerts map[string]task.Alert
}

var _ demo.World = (*World)(nil)

// Open looks at a cloud for the orders of some ids. Only messages that are
// rejected from now on count.
func Open(ctx context.Context, c *cloud.Cloud, ids []task.ID) (*World, error) {
	outputs, err := c.Outputs(ctx)
	if err != nil {
		return nil, err
	}
	responses := outlet.Responses{}
	for _, name := range cloud.ResponseQueues() {
		if responses[name], err = c.QueueURL(ctx, name); err != nil {
			return nil, err
		}
	}
	w := &World{
		cloud: c, tasks: outputs["TasksTable"], ours: map[task.ID]bool{}, alerts: map[string]task.Alert{},
		store: dynamostore.New(c.DynamoDB(), dynamostore.Config{Tasks: outputs["TasksTable"], Orders: outputs["OrdersTable"]}),
		inbox: outlet.NewInbox(outlet.InboxConfig{
			Queues: c.SQS(), Rejected: outputs["RejectedQueueUrl"], Responses: responses, Topic: outputs["AlertsTopic"],
		}),
	}
	for _, id := range ids {
		w.ours[id] = true
	}
	for {
		page, err := w.inbox.Rejections(ctx, w.before, maxPage)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return w, nil
		}
		w.before = page[len(page)-1].Seq
	}
}

// maxPage is how many messages are looked at, at once.
const maxPage = 1000

// States is the state of every order that has a task, as the table has it.
func (w *World) States(ctx context.Context) (map[task.ID]task.State, error) {
	states := map[task.ID]task.State{}
	in := &dynamodb.ScanInput{
		TableName: &w.tasks, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("TaskID, ProcessState"),
		FilterExpression:         aws.String("#part = :task"),
		ExpressionAttributeNames: map[string]string{"#part": "Part"}, ExpressionAttributeValues: map[string]types.AttributeValue{
			":task": &types.AttributeValueMemberS{Value: "task"},
		},
	}
	for pages := dynamodb.NewScanPaginator(w.cloud.DynamoDB(), in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading table %s: %w", w.tasks, err)
		}
		for _, item := range page.Items {
			id, _ := item["TaskID"].(*types.AttributeValueMemberS)
			state, _ := item["ProcessState"].(*types.AttributeValueMemberS)
			if id != nil && state != nil && w.ours[task.ID(id.Value)] {
				states[task.ID(id.Value)] = task.State(state.Value)
			}
		}
	}
	return states, nil
}

// Load reads a task.
func (w *World) Load(ctx context.Context, id task.ID) (task.Task, error) {
	return w.store.Load(ctx, id)
}

// Fate implements demo.World.
func (w *World) Fate(ctx context.Context, id task.ID) (demo.Fate, error) {
	t, err := w.store.Load(ctx, id)
	if err != nil {
		return demo.Fate{}, err
	}
	f := demo.Fate{State: t.State, Reason: t.Reason}
	for _, s := range t.Steps {
		f.Attempts += s.Attempt
	}
	if t.EndedAt != 0 {
		f.Took = time.Duration(t.EndedAt-t.CreatedAt) * time.Millisecond
	}
	return f, nil
}

// Notices implements demo.World. A notice may have come twice.
func (w *World) Notices(ctx context.Context, queue string) (int, error) {
	found := map[string]bool{}
	for after := int64(0); ; {
		page, err := w.inbox.Mail().Notices(ctx, queue, after, maxPage)
		if err != nil || len(page) == 0 {
			return len(found), err
		}
		for _, n := range page {
			if after = n.Seq; w.ours[n.Task] {
				found[n.ID] = true
			}
		}
	}
}

// Rejected implements demo.World.
func (w *World) Rejected(ctx context.Context) ([]api.Rejected, error) {
	page, err := w.inbox.Rejections(ctx, w.before, maxPage)
	if err != nil {
		return nil, err
	}
	var all []api.Rejected
	for _, r := range page {
		all = append(all, api.Rejected{Seq: r.Seq, Queue: r.Queue, Reason: r.Reason, At: api.Time(r.At)})
	}
	return all, nil
}

// Alerts implements demo.World. An alert may have come twice. They are taken off
// the queue that stands in for an operator.
func (w *World) Alerts(ctx context.Context) ([]api.Alert, error) {
	if err := w.receiveAlerts(ctx); err != nil {
		return nil, fmt.Errorf("reading alerts: %w", err)
	}
	all := make([]api.Alert, 0, len(w.alerts))
	for _, a := range slices.SortedFunc(maps.Values(w.alerts), func(a, b task.Alert) int { return cmp.Compare(a.ID, b.ID) }) {
		all = append(all, api.Alert{ID: a.ID, Task: a.Task, Workflow: a.Workflow, Step: a.Step, Subject: a.Subject, Action: a.Action, At: api.Time(a.At)})
	}
	return all, nil
}

func (w *World) receiveAlerts(ctx context.Context) error {
	client := w.cloud.SQS()
	at, err := w.cloud.QueueURL(ctx, cloud.AlertsQueue)
	if err != nil {
		return err
	}
	for {
		got, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &at, MaxNumberOfMessages: maxBatch, WaitTimeSeconds: 1})
		if err != nil || len(got.Messages) == 0 {
			return err
		}
		for _, m := range got.Messages {
			var envelope struct{ Message string }
			var alert task.Alert
			if err := json.Unmarshal([]byte(*m.Body), &envelope); err != nil {
				return fmt.Errorf("what SNS sent: %w", err)
			}
			// An alarm comes the same way, and is no alert of an order.
			if json.Unmarshal([]byte(envelope.Message), &alert) == nil && w.ours[alert.Task] {
				w.alerts[alert.ID] = alert
			}
			if _, err := client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &at, ReceiptHandle: m.ReceiptHandle}); err != nil {
				return err
			}
		}
	}
}
