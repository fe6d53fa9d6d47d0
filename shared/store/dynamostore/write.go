package dynamostore

import (
	"context"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/shared/store"
	"triad/shared/store/record"
	"triad/shared/task"
)

// oldItem asks for the stored item where a condition fails.
const oldItem = types.ReturnValuesOnConditionCheckFailureAllOld

// insert writes task, order and large outputs in one transaction.
//
// Writes: the task item, the order item, side items. Condition: there is no
// task item, or one that had expired when the new task was made and is not
// deleted yet; there is no order item, or one left over from a task that expired.
// Side items that are left over are replaced, or mean nothing. Failure: the id is taken, maybe by this very write: judgeCreate compares the
// op. Stopped before: nothing is there. Stopped after: everything is, and the
// submission's message, which comes again, finds its own op.
//
// The SDK makes the idempotency token, one for each call: it covers the SDK's
// own repeats. A token made from the op would have DynamoDB answer "done" for
// ten minutes to a creation that the task has long moved on from.
func (s *Store) insert(ctx context.Context, t task.Task, m item) error {
	e := expiryOf(t, s.config.Keep)
	items := []types.TransactWriteItem{
		{Put: &types.Put{
			TableName: &s.config.Tasks, Item: m,
			ConditionExpression:                 aws.String("attribute_not_exists(#id) OR #expires < :now"),
			ExpressionAttributeNames:            map[string]string{"#id": attrID, "#expires": attrExpires},
			ExpressionAttributeValues:           item{":now": number(seconds(t.CreatedAt))},
			ReturnValuesOnConditionCheckFailure: oldItem,
		}},
		{Put: &types.Put{
			TableName: &s.config.Orders, Item: orderItem(t, e),
			ConditionExpression:      aws.String("attribute_not_exists(#id) OR attribute_exists(#expires)"),
			ExpressionAttributeNames: map[string]string{"#id": attrID, "#expires": attrExpires},
		}},
	}
	for _, step := range t.Steps {
		if record.Aside(step) {
			items = append(items, types.TransactWriteItem{Put: &types.Put{TableName: &s.config.Tasks, Item: sideItem(t.ID, step, e)}})
		}
	}
	return s.transact(ctx, items)
}

// replace writes the next record. lifetime says that the Expires of the items
// beside it is to be written too.
//
// Writes: the task item, whole, so that what became zero is gone; side items of
// new large outputs; with lifetime the Expires of the order and of older side
// items. Condition: see condition. Failure: nothing is written; the stored item
// tells no such task, our own op, or a conflict (judgeCommit). Stopped before:
// the old record stands, and its deadline in the index. Stopped after: the new
// one stands, nothing of it has been said; the source message comes again, or
// the deadline of the new record passes.
func (s *Store) replace(ctx context.Context, c store.Change, m item, lifetime bool) error {
	put := s.condition(c, m, lifetime)
	put.Item = m
	e := expiryOf(c.Task, s.config.Keep)
	fresh, older := s.sides(c, e)
	if len(fresh) == 0 && !lifetime {
		_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
			ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: oldItem,
		})
		return translate(ctx, err, s.config.Tasks)
	}
	items := append([]types.TransactWriteItem{{Put: put}}, fresh...)
	if lifetime {
		items = append(items, e.set(s.config.Orders, orderKey(c.Task.ID)))
		for _, key := range older {
			items = append(items, e.set(s.config.Tasks, key))
		}
	}
	return s.transact(ctx, items)
}

// condition is what must hold for a commit.
//
// Reads: Version, the LockedBy of each step in Change.Locks, Kept. Condition:
// the version is the one before, each lock reads as given (see lockTerm), and, unless
// the items beside it are written too, these expire or not as m says. That there
// is a task is implied by its version: a commit never brings back what was
// deleted.
//
// DynamoDB takes an expression of 4 KB with 300 operators and functions. Names and
// values don't count, only what stands for them, which is short: with a lock of
// each of task.MaxSteps steps it has 2.3 KB and 131 of them at most.
func (s *Store) condition(c store.Change, m item, lifetime bool) *types.Put {
	names := map[string]string{"#v": attrVersion}
	values := item{":v": number(c.Task.Version - 1)}
	all := []string{"#v = :v"}
	if !lifetime {
		names["#kept"] = attrKept
		if m[attrKept] == nil {
			all = append(all, "attribute_not_exists(#kept)")
		} else {
			all = append(all, "attribute_exists(#kept)")
		}
	}
	for i, lock := range c.Locks {
		all = append(all, lockTerm(i, lock, c.Task, names, values))
	}
	return &types.Put{
		TableName: &s.config.Tasks, ConditionExpression: aws.String(strings.Join(all, " AND ")),
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: oldItem,
	}
}

// lockTerm says that lock number i reads as given: absent when empty, of a step
// that is there. What it stands on is added to names and values.
//
// A step of the next record is one of the stored record: the steps of a task are
// those of its definition and never change. So that an empty one of them is there
// needs no term, which each of many would have.
func lockTerm(i int, lock task.Lock, next task.Task, names map[string]string, values item) string {
	if lock.Step == "" {
		// No step has this name, and DynamoDB takes no empty one: never true.
		return "attribute_not_exists(#v)"
	}
	name, value := "#"+strconv.Itoa(i), ":"+strconv.Itoa(i)
	path := "#s." + name
	names["#s"], names["#l"], names[name] = attrSteps, stepLockedBy, record.Text(lock.Step)
	if lock.LockedBy != "" {
		values[value] = text(lock.LockedBy)
		return path + ".#l = " + value
	}
	free := "attribute_not_exists(" + path + ".#l)"
	if _, known := next.Step(lock.Step); !known {
		return "attribute_exists(" + path + ") AND " + free
	}
	return free
}

// sides are the large outputs of a change: puts of those that are new, and the
// keys of those that are stored already.
func (s *Store) sides(c store.Change, e expiry) (fresh []types.TransactWriteItem, older []item) {
	for _, step := range c.Task.Steps {
		switch {
		case !record.Aside(step):
		case isNew(c.Outputs, step.Name):
			fresh = append(fresh, types.TransactWriteItem{Put: &types.Put{TableName: &s.config.Tasks, Item: sideItem(c.Task.ID, step, e)}})
		default:
			older = append(older, sideKey(c.Task.ID, step.Name))
		}
	}
	return fresh, older
}

func isNew(outputs []task.Output, step string) bool {
	for _, o := range outputs {
		if o.Step == step {
			return true
		}
	}
	return false
}

func (s *Store) transact(ctx context.Context, items []types.TransactWriteItem) error {
	_, err := s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
	return translate(ctx, err, s.config.both())
}
