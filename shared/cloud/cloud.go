// Package cloud is the whole engine on AWS: the same engines as in package
// embedded, over two tables, the queues of a stack and a topic for alerts. The
// functions of a deployment are made here, one for each role, and so is what the
// command line uses to look at a deployment and to act on it.
//
// It wires and never decides. Nothing of a deployment is in a process: any
// function may be killed at any moment, and any number of them run at once.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"

	"triad/shared/catalog"
	"triad/shared/engine"
	"triad/shared/outlet"
	"triad/shared/queue"
	"triad/shared/queue/sqsqueue"
	"triad/shared/settings"
	"triad/shared/store"
	"triad/shared/store/dynamostore"
)

// Config makes a Cloud. Settings and AWS are required.
type Config struct {
	Settings settings.Settings
	// AWS is how to reach AWS, and as whom.
	AWS aws.Config
	// Workflows is a directory of definitions to offer beside those that are kept
	// in the table. Defaults to none.
	Workflows fs.FS
	// Observer hears of decisions. Defaults to none.
	Observer engine.Observer
	// Logger defaults to discarding.
	Logger *slog.Logger
}

// Cloud is the engine over one deployment. It is safe for concurrent use.
type Cloud struct {
	Settings settings.Settings
	Store    *dynamostore.Store
	Offers   *catalog.Catalog
	Outlet   *outlet.Outlet
	Engine   *engine.Engine

	messages messages
	queues   *queues
	logger   *slog.Logger
}

// New wires an engine. It reads the kept definitions; the error says what could
// not be read.
func New(ctx context.Context, c Config) (*Cloud, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s, client := c.Settings, newMessages(c.AWS)
	out, err := newOutlet(c, client)
	if err != nil {
		return nil, err
	}
	made := &Cloud{
		Settings: s, Outlet: out, messages: client, queues: newQueues(client, s), logger: c.Logger,
		Store: dynamostore.New(newTables(c.AWS), dynamostore.Config{
			Tasks: s.TasksTable, Orders: s.OrdersTable, Shards: s.Shards, Keep: s.Keep,
		}),
	}
	if made.Offers, err = offers(ctx, c, made.Store); err != nil {
		return nil, err
	}
	made.Engine = engine.New(engine.Config{
		Instance: engine.NewInstance(), Store: made.Store, Workflows: made.Offers, Queues: made.queues, Outlet: out,
		Observer: c.Observer, Shards: s.Shards, Logger: c.Logger,
	})
	return made, nil
}

// offers are the definitions of the directory and those in the table. Where both
// have one with different contents, the table's is the one that tasks run by, and
// the directory's are left out, which is logged: a deployment that changed a
// definition without raising its version must not stop the tasks under way.
func offers(ctx context.Context, c Config, kept *dynamostore.Store) (*catalog.Catalog, error) {
	if c.Workflows == nil {
		all := catalog.New()
		return all, all.Follow(ctx, kept)
	}
	all, err := catalog.Load(c.Workflows, c.Settings.Agents)
	if err != nil {
		return nil, fmt.Errorf("reading the workflows: %w", err)
	}
	if err = all.Follow(ctx, kept); errors.Is(err, store.ErrDefined) {
		c.Logger.Error("the workflows of this build are left out, those in the table are used", "error", err)
		all = catalog.New()
		err = all.Follow(ctx, kept)
	}
	return all, err
}

func newOutlet(c Config, client messages) (*outlet.Outlet, error) {
	responses, err := outlet.ParseResponses(c.Settings.ResponseQueues, c.Settings.SchedulerQueue, c.Settings.Stack)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", settings.ResponseQueues, err)
	}
	return outlet.New(outlet.Config{
		Queues: client, Topics: newTopics(c.AWS),
		Responses: responses, Rejected: c.Settings.Queue("rejected"), Topic: c.Settings.AlertsTopic,
	}), nil
}

// queues are the scheduler queue and those of the agents. Sends that come at the
// same time share calls.
type queues struct {
	scheduler engine.Sender
	senders   map[string]engine.Sender
	agents    map[string]*sqsqueue.Queue
}

func newQueues(client messages, s settings.Settings) *queues {
	q := &queues{
		scheduler: &sqsqueue.Batcher{To: sqsqueue.New(client, s.SchedulerQueue, sqsqueue.Config{})},
		senders:   map[string]engine.Sender{}, agents: map[string]*sqsqueue.Queue{},
	}
	for _, name := range s.Agents {
		q.agents[name] = sqsqueue.New(client, s.Queue(queue.AgentQueue(name)), sqsqueue.Config{})
		q.senders[name] = &sqsqueue.Batcher{To: q.agents[name]}
	}
	return q
}

// Scheduler implements engine.Queues.
func (q *queues) Scheduler() engine.Sender { return q.scheduler }

// Agent implements engine.Queues.
func (q *queues) Agent(name string) (engine.Sender, bool) {
	sender, found := q.senders[name]
	return sender, found
}
