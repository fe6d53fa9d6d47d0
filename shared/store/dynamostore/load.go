package dynamostore

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"triad/shared/store"
	"triad/shared/task"
)

// snapshots is how often Load reads again what another write is moving.
const snapshots = 5

// Load returns the latest committed task. See store.Store. It costs a read unit
// for each 4 KB of record and large outputs, and of the order.
func (s *Store) Load(ctx context.Context, id task.ID) (task.Task, error) {
	t, err := s.load(ctx, id)
	if err != nil {
		return task.Task{}, fmt.Errorf("loading task %s: %w", id, err)
	}
	return t, nil
}

// load reads all pieces at once. Each read is strong, but a transaction may be
// applied between two of them: what is missing is read again as one snapshot,
// and only if it is missing there too is the task damaged. One that expires and
// of which a piece is gone counts as gone: DynamoDB deletes item by item.
func (s *Store) load(ctx context.Context, id task.ID) (task.Task, error) {
	if task.ValidateID(id) != nil && ctx.Err() == nil {
		return task.Task{}, store.ErrNotFound // DynamoDB can't even be asked for some
	}
	p, err := s.pieces(ctx, id)
	if err != nil {
		return task.Task{}, err
	}
	var before int64 // the version of which something was missing; 0: none yet
	for n := 0; ; n++ {
		t, sides, err := p.task()
		if err != nil {
			return task.Task{}, err
		}
		gap := p.complete(&t, sides)
		switch {
		case gap == "":
			return t, nil
		case t.Version != before && n < snapshots:
		case t.Version != before:
			return task.Task{}, fmt.Errorf("it changed %d times while it was read: load it again", n)
		case p.record[attrExpires] != nil:
			return task.Task{}, store.ErrNotFound
		default:
			return task.Task{}, fmt.Errorf("%w: %s is missing or is another", store.ErrDamaged, gap)
		}
		before = t.Version
		if p, err = s.snapshot(ctx, t, sides); err != nil {
			return task.Task{}, err
		}
	}
}

// pieces are the items of a task as they were read.
type pieces struct {
	record item
	order  item
	sides  map[string]item // by step
}

// task decodes the record.
func (p pieces) task() (task.Task, []aside, error) {
	if p.record == nil {
		return task.Task{}, nil, store.ErrNotFound
	}
	return decode(p.record)
}

// complete fills in order and large outputs. It returns what is missing, or is
// not what the record means.
func (p pieces) complete(t *task.Task, sides []aside) (gap string) {
	if p.order == nil {
		return "its order"
	}
	r := reader{m: p.order}
	if t.Order = r.content(attrOrder); r.err != nil {
		return "its order"
	}
	for _, side := range sides {
		step := &t.Steps[side.step]
		r := reader{m: p.sides[step.Name]}
		step.Output = r.content(attrBody)
		if r.err != nil || !bytes.Equal(fingerprint(step.Output), side.fingerprint) {
			return "the output of step " + step.Name
		}
	}
	return ""
}

// pieces reads the record and the order at the same time.
//
// Reads: all items of the task in Tasks, the item in Orders, both strongly.
func (s *Store) pieces(ctx context.Context, id task.ID) (pieces, error) {
	p := pieces{sides: map[string]item{}}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.readParts(ctx, id, &p) })
	g.Go(func() error {
		out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.config.Orders, Key: orderKey(id), ConsistentRead: aws.Bool(true)})
		if err != nil {
			return translate(ctx, err, s.config.Orders)
		}
		p.order = out.Item
		return nil
	})
	err := g.Wait()
	return p, err
}

func (s *Store) readParts(ctx context.Context, id task.ID, p *pieces) error {
	return s.partitionOf(ctx, string(id), func(m item) error {
		p.add(m)
		return nil
	})
}

// partitionOf reads all items of Tasks with one TaskID, strongly, in the order
// of their sort keys.
func (s *Store) partitionOf(ctx context.Context, id string, each func(item) error) error {
	q := &dynamodb.QueryInput{
		TableName: &s.config.Tasks, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("#id = :id"),
		ExpressionAttributeNames:  map[string]string{"#id": attrID},
		ExpressionAttributeValues: item{":id": text(id)},
	}
	for {
		out, err := s.client.Query(ctx, q)
		if err != nil {
			return translate(ctx, err, s.config.Tasks)
		}
		for _, m := range out.Items {
			if err := each(m); err != nil {
				return err
			}
		}
		if q.ExclusiveStartKey = out.LastEvaluatedKey; q.ExclusiveStartKey == nil {
			return nil
		}
	}
}

// add keeps an item of Tasks.
func (p *pieces) add(m item) {
	r := reader{m: m}
	part := r.text(attrPart)
	if step, found := strings.CutPrefix(part, partOutput); found {
		p.sides[step] = m
	} else if part == partTask {
		p.record = m
	}
}

// snapshot reads the record, the order and the side items that t means, as they
// are at one moment.
//
// Reads: the items by key, in one transaction. Failure: a write of one of them
// is in progress; it is read again.
func (s *Store) snapshot(ctx context.Context, t task.Task, sides []aside) (pieces, error) {
	get := func(table *string, key item) types.TransactGetItem {
		return types.TransactGetItem{Get: &types.Get{TableName: table, Key: key}}
	}
	in := &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		get(&s.config.Orders, orderKey(t.ID)), get(&s.config.Tasks, taskKey(t.ID)),
	}}
	for _, side := range sides {
		in.TransactItems = append(in.TransactItems, get(&s.config.Tasks, sideKey(t.ID, t.Steps[side.step].Name)))
	}
	p := pieces{sides: map[string]item{}}
	err := patiently(ctx, func() error {
		out, err := s.client.TransactGetItems(ctx, in)
		if err != nil {
			return translate(ctx, err, s.config.both())
		}
		p.order = out.Responses[0].Item
		for _, r := range out.Responses[1:] {
			p.add(r.Item)
		}
		return nil
	})
	return p, err
}
