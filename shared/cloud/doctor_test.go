package cloud_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"triad/shared/cloud"
	"triad/shared/doctor"
	"triad/shared/store"
	"triad/shared/store/dynamostore"
	"triad/shared/task"
)

// written takes every new task.
type written struct{ dynamostore.Client }

func (written) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// TestTheDoctorKnowsTheLargestRecordThatTheStoreTakes: one that has a byte more is
// refused.
func TestTheDoctorKnowsTheLargestRecordThatTheStoreTakes(t *testing.T) {
	t.Parallel()
	examined := new(cloud.Cloud).Doctor(doctor.Bounds{})
	tables := dynamostore.New(written{}, dynamostore.Config{})
	v := task.Task{ID: "order-1", Op: "op-1", Version: 1, State: task.Processing, CompleteBy: 1, Reason: "r"}
	n, err := examined.Size(v)
	if err != nil {
		t.Fatal(err)
	}
	v.Reason = strings.Repeat("r", 1+examined.MaxSize-n)
	if err := tables.Create(t.Context(), store.Change{Task: v}); err != nil {
		t.Errorf("a record of %d bytes: %v", examined.MaxSize, err)
	}
	v.Reason += "r"
	if err := tables.Create(t.Context(), store.Change{Task: v}); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a byte more: got %v, want %v", err, store.ErrTooLarge)
	}
}
