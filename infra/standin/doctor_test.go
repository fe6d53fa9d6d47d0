package standin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/shared/doctor"
	"triad/shared/queue"
	"triad/shared/store/dynamostore"
	"triad/shared/task"
)

// doctor is one as an operator on AWS has it, or without a walk as a function has.
func (c *cloud) doctor(walks bool) *doctor.Doctor {
	config := doctor.Config{Store: c.store, Workflows: c.offers, Agents: []string{"inventory", "payment", "shipping"}, Shards: shards,
		Size:    func(t task.Task) (int, error) { return dynamostore.Size(t, 0) },
		MaxSize: 256 << 10}
	if walks {
		config.Walker = dynamostore.NewWalker(c.tables, c.config)
	}
	return doctor.New(config)
}

// wrong are the findings and failures of a report, by check.
func wrong(t *testing.T, d *doctor.Doctor, o doctor.Options) map[doctor.Name]string {
	t.Helper()
	r, err := d.Examine(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	found := map[doctor.Name]string{}
	for _, c := range r.Checks {
		if c.Status == doctor.Found || c.Status == doctor.Failed {
			found[c.Name] = fmt.Sprint(c.Why, c.Examples)
		}
	}
	return found
}

// TestTheDoctorOnTheStandIns: it reports nothing while orders flow through two
// processes, nor once they have ended; and it finds a task that has lost its place
// in the index, if it may read the whole table.
func TestTheDoctorOnTheStandIns(t *testing.T) {
	c := newCloud(t)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, instance := range []string{"one", "two"} {
		c.process(ctx, t, instance, &all)
	}
	want := map[task.ID]task.State{}
	var messages []queue.Message
	for i := range 40 {
		id := task.ID(fmt.Sprintf("good-%d", i))
		if i%4 == 0 {
			id = task.ID(fmt.Sprintf("declined-%d", i))
		}
		want[id] = task.Processed
		body, err := queue.Encode(task.Submission{ID: id, Workflow: "order", Order: json.RawMessage(`{"total":1}`)})
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, queue.Message{Body: body})
	}
	if err := c.queues[queue.Submissions].Send(ctx, messages...); err != nil {
		t.Fatal(err)
	}
	d := c.doctor(true)
	for n := range 8 {
		if found := wrong(t, d, doctor.Options{Full: n%2 == 0}); len(found) > 0 {
			t.Errorf("while orders flow: %v", found)
		}
	}
	c.await(t, want)
	stop()
	all.Wait()
	if found := wrong(t, d, doctor.Options{Full: true}); len(found) > 0 {
		t.Errorf("when all have ended: %v", found)
	}
	c.forget(t, "good-1")
	found := wrong(t, d, doctor.Options{Full: true})
	if !strings.Contains(found[doctor.Unindexed], "good-1 it is Processing, and the index does not have it") {
		t.Errorf("a task that the index lost: found %v", found)
	}
	r, err := c.doctor(false).Examine(t.Context(), doctor.Options{Full: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range r.Checks {
		if check.Name == doctor.Unindexed && check.Status != doctor.NotChecked {
			t.Errorf("without a walk: %+v", check)
		}
	}
}

// forget makes a task that has ended unfinished again, and in no index.
func (c *cloud) forget(t *testing.T, id task.ID) {
	t.Helper()
	_, err := c.tables.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                 &c.config.Tasks,
		Key:                       map[string]types.AttributeValue{"TaskID": &types.AttributeValueMemberS{Value: string(id)}, "Part": &types.AttributeValueMemberS{Value: "task"}},
		UpdateExpression:          aws.String("SET ProcessState = :state"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":state": &types.AttributeValueMemberS{Value: string(task.Processing)}},
	})
	if err != nil {
		t.Fatal(err)
	}
}
