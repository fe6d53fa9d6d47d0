package dynamostore

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/shared/task"
)

// slack is how much longer the order and the outputs are kept than the record.
// DynamoDB deletes late, by days, and in any order; and a task may be looked at
// long after its deadline when the Supervisor had stopped.
const slack = 30 * 24 * time.Hour

// expiry is when the items of a task expire, in seconds since the epoch; 0 is
// never.
type expiry struct {
	// record is for the task item: only of a task that nobody has to look at any
	// more. One in Error waits for an operator, one in the index owes something.
	record int64
	// beside is for the order and the outputs. It is set from the creation on, so
	// that the end of the task has nothing to write there. It is 0, and the record
	// says so (attrKept), while the task may outlive it: in Error; and unfinished
	// with nothing that has to look at it by its deadline.
	beside int64
}

// expiryOf is the expiry of a task that is kept for so long after its end.
//
// It needs no clock. An unfinished task whose CompleteBy is not later than its
// deadline will be looked at by then, and either ends, or its next CompleteBy is
// later and it is kept. The deadline itself moves only when a task leaves Error.
func expiryOf(t task.Task, keep time.Duration) (e expiry) {
	if keep <= 0 {
		return e
	}
	if over(t) {
		e.record = seconds(t.EndedAt.Add(keep))
	}
	if t.State != task.Error && t.CompleteBy <= t.Deadline {
		e.beside = seconds(max(t.CreatedAt, t.Deadline, t.EndedAt).Add(keep + slack))
	}
	return e
}

// over reports whether a task has ended and nobody has to look at it any more.
func over(t task.Task) bool {
	return t.State.Finished() && t.State != task.Error && t.CompleteBy == 0 && t.EndedAt != 0
}

// late reports whether a task ended after its deadline: what was set beside it
// at its creation may then be too early.
func late(t task.Task) bool { return over(t) && t.EndedAt > t.Deadline }

func seconds(m task.Millis) int64 { return m.Time().Unix() }

// flipped reports whether the stored record has items beside it that expire
// where those of m don't, or the other way round.
func flipped(stored, m item) bool {
	return stored != nil && (stored[attrKept] == nil) != (m[attrKept] == nil)
}

// set gives an item beside the task its Expires, or takes it away.
//
// Writes: Expires. Condition: the item is there: an update would make one that
// isn't. Failure: the task is damaged. It is part of replace's transaction.
func (e expiry) set(table string, key item) types.TransactWriteItem {
	update := &types.Update{
		TableName: &table, Key: key, UpdateExpression: aws.String("REMOVE #expires"),
		ConditionExpression:      aws.String("attribute_exists(#id)"),
		ExpressionAttributeNames: map[string]string{"#id": attrID, "#expires": attrExpires},
	}
	if e.beside != 0 {
		update.UpdateExpression = aws.String("SET #expires = :expires")
		update.ExpressionAttributeValues = item{":expires": number(e.beside)}
	}
	return types.TransactWriteItem{Update: update}
}
