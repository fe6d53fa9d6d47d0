package standin_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/infra/standin"
	"triad/shared/agent"
	"triad/shared/catalog"
	"triad/shared/consumer"
	"triad/shared/engine"
	"triad/shared/queue"
	"triad/shared/queue/sqsqueue"
	"triad/shared/scheduler"
	"triad/shared/store"
	"triad/shared/store/dynamostore"
	"triad/shared/submission"
	"triad/shared/supervisor"
	"triad/shared/task"
	"triad/shared/workflow"
)

const shards = 4

const definition = `workflow: order
version: 1
completeWithin: 1h
onExhausted: compensate
steps:
  reserve: {agent: inventory, completeWithin: 3s, retry: {attempts: 20, first: 100ms, max: 1s}, undo: {}}
  charge: {agent: payment, completeWithin: 30s, undo: {}}
  ship: {agent: shipping, completeWithin: 30s}
`

// cloud is what a deployment on AWS consists of, but for the functions.
type cloud struct {
	tables   *dynamodb.Client
	config   dynamostore.Config
	store    *dynamostore.Store
	queues   map[string]*sqsqueue.Queue
	offers   *catalog.Catalog
	mu       sync.Mutex
	called   map[string]int // by idempotency key
	alerts   []task.Alert
	notices  map[string]string // status by id
	rejected []store.Rejected
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	name := rand.Text()
	tables := dynamodb.NewFromConfig(standin.Caller(standin.DynamoDB(t)))
	config := dynamostore.Config{Tasks: "tasks-" + name, Orders: "orders-" + name, Shards: shards}
	if err := dynamostore.CreateTables(t.Context(), tables, config); err != nil {
		t.Fatal(err)
	}
	def, err := workflow.Parse(workflow.Source{File: "order.yaml", Text: []byte(definition)})
	if err != nil {
		t.Fatal(err)
	}
	c := &cloud{
		tables: tables, config: config,
		store: dynamostore.New(tables, config), queues: map[string]*sqsqueue.Queue{}, offers: catalog.New(def),
		called: map[string]int{}, notices: map[string]string{},
	}
	messages := sqs.NewFromConfig(standin.Caller(standin.ElasticMQ(t)))
	for _, q := range []string{queue.Submissions, queue.Scheduler, queue.AgentQueue("inventory"), queue.AgentQueue("payment"), queue.AgentQueue("shipping")} {
		made, err := messages.CreateQueue(t.Context(), &sqs.CreateQueueInput{
			QueueName: aws.String(q + "-" + name), Attributes: map[string]string{"VisibilityTimeout": "20"},
		})
		if err != nil {
			t.Fatal(err)
		}
		c.queues[q] = sqsqueue.New(messages, *made.QueueUrl, sqsqueue.Config{})
	}
	return c
}

func (c *cloud) Scheduler() engine.Sender { return c.queues[queue.Scheduler] }

func (c *cloud) Agent(name string) (engine.Sender, bool) {
	q, found := c.queues[queue.AgentQueue(name)]
	return q, found
}

func (c *cloud) Notify(_ context.Context, notices []task.Notice) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range notices {
		c.notices[n.ID] = n.Status
	}
	return nil
}

func (c *cloud) Alert(_ context.Context, alerts []task.Alert) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alerts = append(c.alerts, alerts...)
	return nil
}

func (c *cloud) Reject(_ context.Context, r store.Rejected) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rejected = append(c.rejected, r)
	return nil
}

// work is every service: it refuses the payments of some orders, and does not
// answer the first attempt for some others.
func (c *cloud) work(ctx context.Context, r task.Request) (json.RawMessage, error) {
	c.mu.Lock()
	c.called[r.IdempotencyKey()]++
	c.mu.Unlock()
	late := strings.HasPrefix(string(r.Task), "late") && r.Agent == "inventory" && r.Attempt == 1
	if late {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if strings.HasPrefix(string(r.Task), "declined") && r.Agent == "payment" {
		return nil, agent.Permanent(errors.New("over the limit"))
	}
	return json.RawMessage(`{"ok":true}`), nil
}

// process runs one instance of everything: Submission, Scheduler, all agents and
// Supervisor compete with those of the other processes.
func (c *cloud) process(ctx context.Context, t *testing.T, instance string, all *sync.WaitGroup) {
	t.Helper()
	core := engine.New(engine.Config{Instance: instance, Store: c.store, Workflows: c.offers, Queues: c, Outlet: c, Shards: shards})
	handlers := map[string]func(context.Context, queue.Delivery) error{
		queue.Scheduler:   scheduler.New(core, c).Handle,
		queue.Submissions: submission.New(submission.Config{Engine: core, Definitions: c.offers, Rejected: c}).Handle,
	}
	for _, name := range []string{"inventory", "payment", "shipping"} {
		a, err := agent.New(agent.Config{Name: name, Work: c.work, Replies: c.Scheduler(),
			Rejected: func(ctx context.Context, body []byte, reason string) error {
				return c.Reject(ctx, store.Rejected{Body: body, Reason: reason})
			}})
		if err != nil {
			t.Fatal(err)
		}
		handlers[queue.AgentQueue(name)] = a.Handle
	}
	for name, handle := range handlers {
		all.Go(func() {
			if err := consumer.New(consumer.Config{Name: name, Queue: c.queues[name], Handle: handle, Wait: time.Second}).Run(ctx); err != nil {
				t.Errorf("%s of %s: %v", name, instance, err)
			}
		})
	}
	all.Go(func() {
		sweeps := supervisor.New(supervisor.Config{Engine: core})
		for tick := time.Tick(300 * time.Millisecond); ctx.Err() == nil; {
			if _, err := sweeps.Sweep(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("sweeping: %v", err)
			}
			select {
			case <-tick:
			case <-ctx.Done():
			}
		}
	})
}

// TestTheEngineBringsOrdersToTheirEndsOnTheStandIns: the engine of the embedded
// form, unchanged, over the adapters of AWS, as two processes at once.
func TestTheEngineBringsOrdersToTheirEndsOnTheStandIns(t *testing.T) {
	c := newCloud(t)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, instance := range []string{"one", "two"} {
		c.process(ctx, t, instance, &all)
	}
	want := map[task.ID]task.State{}
	for i := range 12 {
		want[task.ID(fmt.Sprintf("good-%d", i))] = task.Processed
		want[task.ID(fmt.Sprintf("declined-%d", i))] = task.Compensated
		if i < 4 {
			want[task.ID(fmt.Sprintf("late-%d", i))] = task.Processed
		}
	}
	messages := []queue.Message{{Body: []byte("not JSON")}}
	for id := range want {
		body, err := queue.Encode(task.Submission{ID: id, Workflow: "order", Order: json.RawMessage(`{"total":1}`), ResponseQueue: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, queue.Message{Body: body}, queue.Message{Body: body})
	}
	if err := c.queues[queue.Submissions].Send(ctx, messages...); err != nil {
		t.Fatal(err)
	}
	c.await(t, want)
	stop()
	all.Wait()
	for _, q := range c.queues {
		if err := q.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	}
	c.check(t, want)
}

// await polls the table until every order has ended and owes nothing.
func (c *cloud) await(t *testing.T, want map[task.ID]task.State) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for id := range want {
		for tick := time.Tick(50 * time.Millisecond); ; {
			if got, err := c.store.Load(ctx, id); err == nil && got.State.Finished() && got.CompleteBy == 0 {
				break
			}
			select {
			case <-tick:
			case <-ctx.Done():
				t.Fatalf("%s has not ended after a minute", id)
			}
		}
	}
}

func (c *cloud) check(t *testing.T, want map[task.ID]task.State) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, state := range want {
		got, err := c.store.Load(t.Context(), id)
		if err != nil || got.State != state || got.CompleteBy != 0 {
			t.Errorf("%s ended as %s, due %d, %v; want %s, out of the index", id, got.State, got.CompleteBy, err, state)
		}
		if strings.HasPrefix(string(id), "late") && got.FailureCount == 0 {
			t.Errorf("%s counts no failure, though its first call was not answered", id)
		}
		if c.notices[string(id)+"/Received/0"] == "" || c.notices[string(id)+"/"+string(state)+"/0"] == "" {
			t.Errorf("%s was not told that it was received and how it ended", id)
		}
		if undone := c.called[string(id)+"/reserve/undo"] > 0; undone != (state == task.Compensated) {
			t.Errorf("%s: reserve was undone: %v", id, undone)
		}
	}
	if len(c.alerts) != 0 || len(c.rejected) != 1 || string(c.rejected[0].Body) != "not JSON" {
		t.Errorf("got alerts %v and rejected %v, want none and the one that is not JSON", c.alerts, c.rejected)
	}
}
