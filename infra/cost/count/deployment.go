package count

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/shared/agent"
	"triad/shared/catalog"
	"triad/shared/engine"
	"triad/shared/queue"
	"triad/shared/queue/sqsqueue"
	"triad/shared/scheduler"
	"triad/shared/store"
	"triad/shared/store/dynamostore"
	"triad/shared/submission"
	"triad/shared/task"
	"triad/shared/workflow"
)

// shards is how many shards the index of a run has: the stack's default.
const shards = 16

// instance is as long as the name of an instance may be.
const instance = "scheduler-7f9c4d"

// notices names the application's response queue.
const notices = "order-notices"

// channel is a queue of a deployment with what consumes it.
type channel struct {
	name     string
	function string // that its batches invoke; none for the notices
	queue    *sqsqueue.Queue
	sender   engine.Sender // how the functions send to it
	till     *till
	depth    *sqsqueue.Queue // the same queue, uncounted
	handle   func(context.Context, queue.Delivery) error
}

// deployment is Triad on AWS as package cloud wires it, but for Lambda and SNS.
type deployment struct {
	config   Config
	meter    *meter
	store    *sized
	engine   *engine.Engine
	clock    *clock
	pace     *pace
	channels map[string]*channel
	order    []*channel // in which they are emptied

	mu          sync.Mutex
	ended       map[task.ID]task.State
	invocations map[string]int
	trouble     []error // what no order of the path should meet
}

func (s *Stage) deploy(ctx context.Context, c Config) (*deployment, error) {
	suffix := "-" + rand.Text()
	tables := dynamostore.Config{Tasks: "tasks" + suffix, Orders: "orders" + suffix, Shards: shards, Keep: c.Keep}
	if err := dynamostore.CreateTables(ctx, s.tables, tables); err != nil {
		return nil, err
	}
	def, err := workflow.Parse(workflow.Source{File: "order.yaml", Text: []byte(definition)})
	if err != nil {
		return nil, err
	}
	offers := catalog.New(def)
	d := &deployment{
		config: c, meter: &meter{client: s.tables, orders: tables.Orders}, clock: &clock{now: time.Now()}, pace: newPace(),
		channels: map[string]*channel{}, ended: map[task.ID]task.State{}, invocations: map[string]int{},
	}
	d.store = &sized{Store: dynamostore.New(d.meter, tables), keep: c.Keep}
	d.engine = engine.New(engine.Config{Instance: instance, Store: d.store, Workflows: offers, Queues: d, Outlet: d,
		Observer: d, Shards: shards, Clock: d.clock.time})
	accept := submission.New(submission.Config{Engine: d.engine, Definitions: offers, Rejected: d})
	err = d.channel(ctx, s.queues, suffix, channel{name: queue.Submissions, function: "submission", handle: accept.Handle})
	for _, step := range def.Workflow.Steps {
		err = errors.Join(err, d.channel(ctx, s.queues, suffix, channel{name: queue.AgentQueue(step.Agent), function: "agents"}))
	}
	err = errors.Join(err,
		d.channel(ctx, s.queues, suffix, channel{name: queue.Scheduler, function: "scheduler", handle: scheduler.New(d.engine, d).Handle}),
		d.channel(ctx, s.queues, suffix, channel{name: notices}))
	if err != nil {
		return nil, err
	}
	return d, d.employ(def.Workflow)
}

// channel makes a queue.
func (d *deployment) channel(ctx context.Context, client *sqs.Client, suffix string, c channel) error {
	made, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(c.name + suffix)})
	if err != nil {
		return fmt.Errorf("making queue %s: %w", c.name, err)
	}
	c.till = &till{client: client}
	c.queue = sqsqueue.New(c.till, *made.QueueUrl, sqsqueue.Config{Name: c.name})
	c.depth = sqsqueue.New(client, *made.QueueUrl, sqsqueue.Config{Name: c.name})
	c.sender = newPaced(d.pace, c.queue)
	d.channels[c.name] = &c
	if c.function != "" {
		d.order = append(d.order, &c)
	}
	return nil
}

// employ gives each agent's queue its agent.
func (d *deployment) employ(w task.Workflow) error {
	for _, step := range w.Steps {
		a, err := agent.New(agent.Config{Name: step.Agent, Work: d.work, Replies: d.Scheduler(), Clock: d.clock.time,
			Rejected: func(ctx context.Context, body []byte, reason string) error {
				return d.Reject(ctx, store.Rejected{Body: body, Reason: reason})
			}})
		if err != nil {
			return err
		}
		d.channels[queue.AgentQueue(step.Agent)].handle = a.Handle
	}
	return nil
}

// Scheduler implements engine.Queues.
func (d *deployment) Scheduler() engine.Sender { return d.channels[queue.Scheduler].sender }

// Agent implements engine.Queues.
func (d *deployment) Agent(name string) (engine.Sender, bool) {
	c, found := d.channels[queue.AgentQueue(name)]
	if !found {
		return nil, false
	}
	return c.sender, true
}

// Notify sends notices to the application's response queue, a call for each task,
// as package outlet does.
func (d *deployment) Notify(ctx context.Context, all []task.Notice) error {
	messages := make([]queue.Message, len(all))
	for i, n := range all {
		body, err := queue.Encode(n)
		if err != nil {
			return err
		}
		messages[i] = queue.Message{Body: body}
	}
	return d.channels[notices].queue.Send(ctx, messages...)
}

// Alert notes what no path of the reference order should need a person for.
func (d *deployment) Alert(_ context.Context, alerts []task.Alert) error {
	for _, a := range alerts {
		d.note(fmt.Errorf("alert of task %s: %s", a.Task, a.Subject))
	}
	return nil
}

// Reject notes a message that none of the parts understood.
func (d *deployment) Reject(_ context.Context, r store.Rejected) error {
	d.note(fmt.Errorf("rejected on queue %s: %s", r.Queue, r.Reason))
	return nil
}

// Decided implements engine.Observer: it notes how tasks end.
func (d *deployment) Decided(_ task.Event, decided task.Decision) {
	if !decided.Task.State.Finished() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended[decided.Task.ID] = decided.Task.State
}

func (d *deployment) note(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trouble = append(d.trouble, err)
}

// work is every service.
func (d *deployment) work(_ context.Context, r task.Request) (json.RawMessage, error) {
	if d.config.Path == Compensated && r.Step == lastStep && !r.Undo {
		return nil, agent.Permanent(errors.New("the customer can't be told"))
	}
	return json.RawMessage(`{"id":"res-8f3a2c91","ok":true}`), nil
}

// clock is the time of engine and agents, so that nothing has to be waited for.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// sized keeps the size of the largest item that was ever stored.
type sized struct {
	store.Store
	keep    time.Duration
	mu      sync.Mutex
	largest int
}

func (s *sized) Create(ctx context.Context, c store.Change) error {
	return errors.Join(s.Store.Create(ctx, c), s.measure(c.Task))
}

func (s *sized) Commit(ctx context.Context, c store.Change) error {
	return errors.Join(s.Store.Commit(ctx, c), s.measure(c.Task))
}

func (s *sized) measure(t task.Task) error {
	n, err := dynamostore.Size(t, s.keep)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.largest = max(s.largest, n)
	return err
}
