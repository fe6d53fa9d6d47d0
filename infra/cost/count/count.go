// Package count runs the reference order of five steps through the engine, over
// the adapters of AWS on what stands in for AWS here, and counts what AWS bills:
// write and read units, requests to SQS, invocations.
//
// It exists because a price that is computed from a model is a promise about the
// model. Here each number is what the program that is shipped asked for: the
// units are those that DynamoDB reports with each call, the requests are the
// calls that left the SQS adapter, an invocation is a batch given to a function.
//
// # Batches
//
// What a queue costs depends on how many messages share a call. Orders therefore
// run in lockstep: all are submitted, then each queue is emptied in batches of
// Config.Batch messages, one receive, one invocation and one delete each, before
// the next queue is looked at. On AWS traffic decides how full batches are.
//
// # Not counted
//
// Empty receives and the Supervisor's look at an index that has nothing due: they
// cost the same with no order at all, and are the business of an idle deployment.
// Compute time and logs: this machine can't tell what AWS would bill for them.
package count

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/infra/standin"
)

// Path is what happens to the orders of a run.
type Path string

// The paths. An order that ends otherwise than its path says fails the run.
const (
	// Plain: every step succeeds at once.
	Plain Path = "plain"
	// Retried: the first request for the second step comes to its agent too
	// late. The Supervisor finds the task, the second attempt succeeds.
	Retried Path = "one timeout and retry"
	// Compensated: the fifth step is refused for good, and the four steps before
	// it are undone. No order of five steps has more to undo.
	Compensated Path = "compensated"
)

// Paths are all of them.
func Paths() []Path { return []Path{Plain, Retried, Compensated} }

// MaxBatch is how many messages a call of SQS takes.
const MaxBatch = 10

// Config says what to run.
type Config struct {
	Path Path
	// Tasks is how many orders are run, from 1. A last batch that is not full
	// makes the average order dearer: take a multiple of Batch.
	Tasks int
	// Batch is how many messages share a call and an invocation: 1 to MaxBatch.
	Batch int
	// Keep is how long tasks are kept after their end. 0 is for ever.
	Keep time.Duration
	// Order is the content of each order, JSON. Defaults to 35 bytes.
	Order json.RawMessage
}

// Counts is what all orders of a run consumed together.
type Counts struct {
	Path  Path `json:"path"`
	Tasks int  `json:"tasks"`
	Batch int  `json:"batch"`
	// Writes and Reads are capacity units.
	Writes Units `json:"writeUnits"`
	Reads  Units `json:"readUnits"`
	// Messages were sent on Triad's own queues, the submissions among them.
	Messages int      `json:"messages"`
	Requests Requests `json:"sqsRequests"`
	// Invocations are by function: submission, scheduler, agents.
	Invocations map[string]int `json:"invocations"`
	// LargestItem is the most bytes that a task's item had after any commit.
	LargestItem int `json:"largestItemBytes"`
}

// Units are capacity units by table, and of the index of Tasks.
type Units struct {
	Tasks  float64 `json:"tasks"`
	Orders float64 `json:"orders"`
	Index  float64 `json:"index"`
}

// Total is their sum.
func (u Units) Total() float64 { return u.Tasks + u.Orders + u.Index }

// Requests are requests to SQS as they are billed: a call, or each 64 KB of one.
type Requests struct {
	Send    int `json:"send"`
	Receive int `json:"receive"`
	Delete  int `json:"delete"`
	// Notices are the sends to the application's response queue.
	Notices int `json:"notices"`
}

// Total is their sum.
func (r Requests) Total() int { return r.Send + r.Receive + r.Delete + r.Notices }

// Stage is where orders are run: DynamoDB Local and ElasticMQ. Its methods are
// safe for concurrent use; each run makes tables and queues of its own.
type Stage struct {
	tables *dynamodb.Client
	queues *sqs.Client
	stop   []func()
}

// Open starts both stand-ins. Close must follow. standin.ErrMissing says that
// they are not installed on this machine.
func Open() (*Stage, error) {
	tables, stopTables, err := standin.StartDynamoDB()
	if err != nil {
		return nil, fmt.Errorf("starting DynamoDB Local: %w", err)
	}
	queues, stopQueues, err := standin.StartElasticMQ()
	if err != nil {
		stopTables()
		return nil, fmt.Errorf("starting ElasticMQ: %w", err)
	}
	s := On(tables, queues)
	s.stop = []func(){stopTables, stopQueues}
	return s, nil
}

// On returns a Stage of stand-ins that run already, by their endpoints.
func On(tables, queues string) *Stage {
	return &Stage{tables: dynamodb.NewFromConfig(standin.Caller(tables)), queues: sqs.NewFromConfig(standin.Caller(queues))}
}

// Close ends what Open started.
func (s *Stage) Close() {
	for _, stop := range s.stop {
		stop()
	}
}

// Run runs orders to their ends and returns what they consumed. A run in which a
// call failed, or an order ended otherwise than its path says, is an error: its
// counts would not be those of the path.
func (s *Stage) Run(ctx context.Context, c Config) (Counts, error) {
	if c.Tasks < 1 || c.Batch < 1 || c.Batch > MaxBatch {
		return Counts{}, fmt.Errorf("%d orders in batches of %d: take 1 order or more, in batches of 1 to %d", c.Tasks, c.Batch, MaxBatch)
	}
	counts, err := s.run(ctx, c)
	if err != nil {
		return Counts{}, fmt.Errorf("running %d orders, %s, in batches of %d: %w", c.Tasks, c.Path, c.Batch, err)
	}
	return counts, nil
}

func (s *Stage) run(ctx context.Context, c Config) (Counts, error) {
	d, err := s.deploy(ctx, c)
	if err != nil {
		return Counts{}, err
	}
	if err := d.submit(ctx); err != nil {
		return Counts{}, err
	}
	if err := d.settle(ctx); err != nil {
		return Counts{}, err
	}
	return d.counts()
}

// errUncounted: a call failed. AWS bills some of these and reports none.
var errUncounted = errors.New("the call failed, and what it cost is not known")
