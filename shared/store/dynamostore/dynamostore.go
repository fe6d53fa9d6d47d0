package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"triad/shared/store"
	"triad/shared/store/record"
	"triad/shared/task"
)

// Client is what the store calls of *dynamodb.Client.
type Client interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
}

var _ Client = (*dynamodb.Client)(nil)

// Config says which tables, and how long they keep what is done.
type Config struct {
	// Tasks and Orders are the names of the tables. Default to "Tasks" and
	// "Orders".
	Tasks, Orders string
	// Shards is how many shards tasks are created in: List reads 0 to Shards-1.
	// After lowering it, keep the old number until the tasks of the upper
	// shards have ended. Defaults to 16.
	Shards int
	// Keep is how long a task is kept after its end; DynamoDB deletes it some
	// time later, within days, and its order later than that (see the package
	// comment). One that ended in Error is kept until an operator has brought it
	// to another end. Defaults to 0: for ever.
	Keep time.Duration
}

// Store keeps tasks in DynamoDB. All methods are safe for concurrent use, by any
// number of processes.
type Store struct {
	client Client
	config Config
}

var _ store.Store = (*Store)(nil)

// New returns the store in the tables of config, which must exist. It calls
// nothing yet.
func New(client Client, config Config) *Store {
	return &Store{client: client, config: config.defaults()}
}

func (c Config) defaults() Config {
	if c.Tasks == "" {
		c.Tasks = "Tasks"
	}
	if c.Orders == "" {
		c.Orders = "Orders"
	}
	if c.Shards == 0 {
		c.Shards = 16
	}
	return c
}

// both names the tables, for errors of calls that use both.
func (c Config) both() string { return c.Tasks + " or " + c.Orders }

// Create writes a new task and its order. See store.Store.
func (s *Store) Create(ctx context.Context, c store.Change) error {
	if err := s.create(ctx, c); err != nil {
		return fmt.Errorf("creating task %s: %w", c.Task.ID, err)
	}
	return nil
}

func (s *Store) create(ctx context.Context, c store.Change) error {
	m, err := s.encode(ctx, c)
	if err != nil {
		return err
	}
	if c.Task.Version != 1 {
		return fmt.Errorf("its version is %d and must be 1", c.Task.Version)
	}
	err = patiently(ctx, func() error { return s.insert(ctx, c.Task, m) })
	return judgeCreate(c.Task, err)
}

// judgeCreate says what a refused creation means.
func judgeCreate(t task.Task, err error) error {
	var no *refused
	if !errors.As(err, &no) {
		return err
	}
	if !no.parts[0].failed {
		return fmt.Errorf("%w: there is an order of this id, and no task: remove the order's item", store.ErrDamaged)
	}
	stored, err := writeOf(no.parts[0].old)
	switch {
	case err != nil:
		return err
	case stored == (write{t.Version, record.Text(t.Op)}):
		return nil
	}
	return store.ErrExists
}

// Commit replaces a task's record. See store.Store.
func (s *Store) Commit(ctx context.Context, c store.Change) error {
	if err := s.commit(ctx, c); err != nil {
		return fmt.Errorf("committing task %s: %w", c.Task.ID, err)
	}
	return nil
}

func (s *Store) commit(ctx context.Context, c store.Change) error {
	m, err := s.encode(ctx, c)
	if err != nil {
		return err
	}
	lifetime := late(c.Task)
	err = patiently(ctx, func() error { return s.replace(ctx, c, m, lifetime) })
	var no *refused
	if !lifetime && errors.As(err, &no) && flipped(no.parts[0].old, m) {
		// It may have been refused only because the order and the outputs begin
		// to expire, or cease to.
		err = patiently(ctx, func() error { return s.replace(ctx, c, m, true) })
	}
	return judgeCommit(c.Task, err)
}

// judgeCommit says what a refused commit means.
func judgeCommit(t task.Task, err error) error {
	var no *refused
	if !errors.As(err, &no) {
		return err
	}
	own := no.parts[0]
	switch stored, err := writeOf(own.old); {
	case own.failed && own.old == nil:
		return store.ErrNotFound
	case own.failed && err != nil:
		return err
	case own.failed && stored == (write{t.Version, record.Text(t.Op)}):
		return nil
	case own.failed && stored.version > t.Version:
		// The SDK repeats calls by itself: this may be a repetition, and one before
		// it the write that others followed.
		return fmt.Errorf("%w: %w", store.ErrConflict, store.ErrOvertaken)
	case own.failed:
		return store.ErrConflict
	}
	return fmt.Errorf("%w: its order or an output is missing", store.ErrDamaged)
}

// write names the write that made what is stored.
type write struct {
	version int64
	op      string
}

func writeOf(m item) (write, error) {
	r := reader{m: m}
	w := write{r.number(attrVersion), r.text(attrOp)}
	return w, r.err
}

// encode checks the bounds and makes the task item.
func (s *Store) encode(ctx context.Context, c store.Change) (item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := record.Check(c.Task); err != nil {
		return nil, err
	}
	m := taskItem(c.Task, s.config.Keep)
	if n := size(m); n > record.MaxSize {
		return nil, fmt.Errorf("%w: the record has %d bytes", store.ErrTooLarge, n)
	}
	return m, nil
}

// How long a write waits for another that is in progress, at first and at last;
// each wait is twice the one before.
const (
	firstWait = 10 * time.Millisecond
	lastWait  = 80 * time.Millisecond
)

// patiently repeats what met another write in progress.
func patiently(ctx context.Context, try func() error) error {
	for wait := firstWait; ; wait *= 2 {
		err := try()
		if wait > lastWait || !errors.Is(err, errContended) {
			return err
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// pause waits, or returns the error of a context that ended meanwhile.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
