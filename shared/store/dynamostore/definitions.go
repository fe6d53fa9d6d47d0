package dynamostore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"triad/shared/store"
	"triad/shared/task"
)

// definitionsKey is the TaskID of the items that hold definitions, one of each
// version. No task has such an id. They are in no index and never expire.
const definitionsKey = "/definitions"

// maxItem is the most bytes that DynamoDB takes in one item, as Size counts them.
// Only definitions may have as many: a record has record.MaxSize at most.
const maxItem = 400 << 10

// definitionItem is the item of a definition; its sort key is name@version.
func definitionItem(d store.Definition) item {
	m := item{attrID: text(definitionsKey), attrPart: text(task.Ref(d.Name, d.Version))}
	m.text(attrWorkflow, d.Name)
	m.number(attrVersion, int64(d.Version))
	m.content(attrSource, d.Source)
	return m
}

// definitionOf reads the item of a definition. One that is damaged is known by its
// sort key, which DynamoDB keeps a text.
func definitionOf(m item) store.Definition {
	r := reader{m: m}
	d := store.Definition{Name: r.text(attrWorkflow), Version: int(r.number(attrVersion)), Source: r.content(attrSource)}
	if r.err == nil {
		return d
	}
	part := r.text(attrPart)
	name, version, err := task.SplitRef(part)
	if err != nil {
		name = part
	}
	return store.Definition{Name: name, Version: version, Err: r.err}
}

// Define stores a definition with the tasks. The same name and version with the
// same source again is a success and writes nothing; with another source it is
// store.ErrDefined; one of more than some 400,000 bytes is store.ErrTooLarge. Any
// other error leaves open whether it is stored: repeat it.
//
// Writes: one item of Tasks. Condition: there is none of this name and version.
// Failure: it is stored already, maybe by this very write; the sources are
// compared. Stopped before: it isn't stored. Stopped after: it is, for good.
func (s *Store) Define(ctx context.Context, d store.Definition) error {
	if err := s.define(ctx, d); err != nil {
		return fmt.Errorf("storing definition %s: %w", task.Ref(d.Name, d.Version), err)
	}
	return nil
}

func (s *Store) define(ctx context.Context, d store.Definition) error {
	m := definitionItem(d)
	if n := size(m); n > maxItem {
		return fmt.Errorf("%w: it has %d bytes", store.ErrTooLarge, n)
	}
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.config.Tasks, Item: m,
		ConditionExpression:                 aws.String("attribute_not_exists(#id)"),
		ExpressionAttributeNames:            map[string]string{"#id": attrID},
		ReturnValuesOnConditionCheckFailure: oldItem,
	})
	var no *refused
	if err = translate(ctx, err, s.config.Tasks); !errors.As(err, &no) {
		return err
	}
	stored := definitionOf(no.parts[0].old)
	if stored.Err == nil && !bytes.Equal(stored.Source, d.Source) {
		return store.ErrDefined
	}
	return stored.Err
}

// Definitions returns all definitions, by name, then version. One whose Define
// has returned is among them, and one that is damaged, with its Err.
//
// Reads: one partition of Tasks, strongly.
func (s *Store) Definitions(ctx context.Context) ([]store.Definition, error) {
	var all []store.Definition
	err := s.partitionOf(ctx, definitionsKey, func(m item) error {
		all = append(all, definitionOf(m))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing definitions: %w", err)
	}
	slices.SortFunc(all, func(a, b store.Definition) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return all, nil
}
