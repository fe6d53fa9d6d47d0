package dynamostore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"triad/shared/store"
	"triad/shared/store/dynamostore"
	"triad/shared/task"
)

// conditions keeps the condition of each commit, and writes nothing.
type conditions struct {
	dynamostore.Client
	seen []string
}

func (c *conditions) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	c.seen = append(c.seen, aws.ToString(in.ConditionExpression))
	return &dynamodb.PutItemOutput{}, nil
}

func (c *conditions) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.seen = append(c.seen, aws.ToString(in.TransactItems[0].Put.ConditionExpression))
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// TestTheConditionOfAnyCommitFits: DynamoDB takes 4 KB with 300 operators and
// functions. What stands in an expression for a name or a value counts, and it does
// not depend on how long these are.
func TestTheConditionOfAnyCommitFits(t *testing.T) {
	t.Parallel()
	const bytes, operators = 4 << 10, 300
	for name, owner := range map[string]func(i int) string{
		"all free":     func(int) string { return "" },
		"all claimed":  func(int) string { return strings.Repeat("w", 200) },
		"of each kind": func(i int) string { return strings.Repeat("w", i%2) },
	} {
		for _, keep := range []bool{false, true} {
			c := &conditions{}
			s := dynamostore.New(c, dynamostore.Config{})
			v := task.Task{ID: "order-1", Workflow: "order@1", State: task.Processing, Version: 1 << 40, Op: "op", CompleteBy: created, Deadline: created}
			if keep {
				s = dynamostore.New(c, dynamostore.Config{Keep: 1})
			}
			change := store.Change{Task: v}
			for i := range task.MaxSteps {
				step := fmt.Sprintf("%s-%d", strings.Repeat("s", 100), i)
				change.Task.Steps = append(change.Task.Steps, task.StepState{Name: step, State: task.Processed})
				change.Locks = append(change.Locks, task.Lock{Step: step, LockedBy: owner(i)})
			}
			if err := s.Commit(t.Context(), change); err != nil || len(c.seen) != 1 {
				t.Fatalf("%s: %d writes, error %v", name, len(c.seen), err)
			}
			is := c.seen[0]
			count := strings.Count(is, "(") + strings.Count(is, " AND ") + strings.Count(is, " = ")
			t.Logf("%s, keep %t: %d bytes, %d operators", name, keep, len(is), count)
			if len(is) > bytes*6/10 || count > operators/2 {
				t.Errorf("%s: %d bytes and %d operators, want at most six tenths of %d and half of %d:\n%s", name, len(is), count, bytes, operators, is)
			}
		}
	}
}
