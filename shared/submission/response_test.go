package submission_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/engine"
	"triad/shared/engine/enginetest"
	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/submission"
	"triad/shared/task"
)

// onlyShop knows one response queue.
func onlyShop(name string) error {
	if name == "shop" {
		return nil
	}
	return errors.New("there is shop")
}

func TestAResponseQueueMustBeOneThatThereIs(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		known func(string) error
		queue string
		says  string // "": accepted
	}{
		{"one that there is", onlyShop, "shop", ""},
		{"none", onlyShop, "", ""},
		{"one that there is not", onlyShop, "depot", "there is shop"},
		{"one that is no name, which is not asked about", onlyShop, "a b", "has the character ' ' at position 2: use letters, digits and . _ : - after a first letter or digit"},
		{"any, where all are known", nil, "depot", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rig := enginetest.New(t)
			s := submission.New(submission.Config{Engine: rig.Start("one").Engine, Definitions: rig.Catalog, ResponseQueue: c.known})
			sub := enginetest.Submission("o-1")
			sub.ResponseQueue = c.queue
			_, err := s.Submit(context.Background(), sub)
			if c.says == "" {
				if err != nil || rig.Task("o-1").ResponseQueue != c.queue {
					t.Errorf("error is %v, of response queue %q; want it accepted", err, c.queue)
				}
				return
			}
			var invalid *submission.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("error is %v, want an InvalidError", err)
			}
			if diff := cmp.Diff(submission.InvalidError{Field: "responseQueue", Problem: c.says}, *invalid); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if rig.Table.Writes() != 0 {
				t.Error("something was written")
			}
		})
	}
}

func TestAMessageThatNamesNoResponseQueueThatThereIsIsCaptured(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	s := submission.New(submission.Config{Engine: rig.Start("one").Engine, Definitions: rig.Catalog, Rejected: rig.Memory, ResponseQueue: onlyShop})
	body := `{"id":"o-1","workflow":"order","order":{"total":1},"responseQueue":"depot"}`
	if err := s.Handle(context.Background(), queue.Delivery{Body: []byte(body), Receives: 1}); err != nil {
		t.Fatal(err)
	}
	kept, err := rig.Memory.Rejections(context.Background(), 0, 10)
	if err != nil || len(kept) != 1 || string(kept[0].Body) != body || kept[0].Reason != "field responseQueue: there is shop" {
		t.Errorf("captured %v, %v; want the one, with its reason", kept, err)
	}
}

// TestASubmissionThatWasAcceptedStaysSo when its response queue has been taken
// off the list since.
func TestASubmissionThatWasAcceptedStaysSo(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	p := rig.Start("one")
	rig.Submit(p, "o-1")
	s := submission.New(submission.Config{Engine: p.Engine, Definitions: rig.Catalog, ResponseQueue: func(string) error { return errors.New("there is none") }})
	receipt, err := s.Submit(context.Background(), enginetest.Submission("o-1"))
	if err != nil || !receipt.Already || receipt.Task.ID != task.ID("o-1") {
		t.Errorf("got %v, %v; want that it was accepted already", receipt.Already, err)
	}
}

// unreadable is a store that can't be read now.
type unreadable struct{ store.Store }

func (unreadable) Load(context.Context, task.ID) (task.Task, error) {
	return task.Task{}, enginetest.ErrInjected
}

// TestNothingIsRefusedWhileItMayHaveBeenAccepted: a message that this instance
// would refuse comes again when it can't be read whether another accepted it.
func TestNothingIsRefusedWhileItMayHaveBeenAccepted(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	e := engine.New(engine.Config{Instance: "one", Store: unreadable{rig.Memory}, Workflows: rig.Catalog, Queues: rig.Queues})
	s := submission.New(submission.Config{Engine: e, Definitions: rig.Catalog, Rejected: rig.Memory})
	d := queue.Delivery{Body: []byte(`{"id":"o-1","workflow":"order@7","order":{"total":1}}`), Receives: 2}
	if err := s.Handle(context.Background(), d); !errors.Is(err, enginetest.ErrInjected) {
		t.Errorf("error is %v, want the fault: the message must come again", err)
	}
	if kept, err := rig.Memory.Rejections(context.Background(), 0, 10); err != nil || len(kept) > 0 {
		t.Errorf("captured %v, %v; want nothing", kept, err)
	}
}
