package submission_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/engine/enginetest"
	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/submission"
	"triad/shared/task"
)

func TestUnreadableMessagesAreCapturedAndTheirNeighboursProceed(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	p := rig.Start("one")
	var captured []string
	for _, b := range bad {
		bodies := []string{b.body, good("o-" + strings.Map(letters, b.name))}
		captured = append(captured, b.body)
		for _, body := range bodies {
			if err := p.Submission.Handle(context.Background(), queue.Delivery{Body: []byte(body), Receives: 1}); err != nil {
				t.Errorf("%s: %v", b.name, err)
			}
		}
	}
	if n := len(rig.Due(0)); n != len(bad) {
		t.Errorf("%d tasks were made, want %d", n, len(bad))
	}
	kept, err := rig.Memory.Rejections(context.Background(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, r := range kept {
		got = append(got, string(r.Body))
		if r.Queue != queue.Submissions || r.At != task.At(enginetest.Noon()) || !strings.Contains(r.Reason, bad[i].says) || !strings.Contains(r.Reason, bad[i].field) {
			t.Errorf("%s: captured from %s at %v because %s", bad[i].name, r.Queue, r.At, cut(r.Reason))
		}
	}
	if diff := cmp.Diff(captured, got); diff != "" {
		t.Errorf("captured bytes (-want +got):\n%s", diff)
	}
}

func letters(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r
	}
	return '-'
}

func TestAnIdThatIsTakenByOtherContentIsCaptured(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	p := rig.Start("one")
	rig.Submit(p, "o-1")
	if err := p.Submission.Handle(context.Background(), queue.Delivery{Body: []byte(good("o-1")), Receives: 1}); err != nil {
		t.Fatal(err)
	}
	kept, err := rig.Memory.Rejections(context.Background(), 0, 10)
	if err != nil || len(kept) != 1 || !strings.Contains(kept[0].Reason, "other content") {
		t.Errorf("captured %v, %v; want the one, with its reason", kept, err)
	}
}

// full takes no rejected message.
type full struct{}

func (full) Reject(context.Context, store.Rejected) error { return store.ErrFull }

func TestAMessageThatCanNotBeCapturedComesAgain(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	s := submission.New(submission.Config{Engine: rig.Start("one").Engine, Definitions: rig.Catalog, Rejected: full{}})
	err := s.Handle(context.Background(), queue.Delivery{Body: []byte("nonsense"), Receives: 1})
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("error is %v, want store.ErrFull", err)
	}
}

func TestAMessageThatComesAgainSaysAgainWhatItsTaskImplies(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	died, other := rig.Start("died"), rig.Start("other")
	body := []byte(good("o-1"))
	if err := died.Submission.Handle(context.Background(), queue.Delivery{Body: body, Receives: 1}); err != nil {
		t.Fatal(err)
	}
	rig.Lose()
	if err := other.Submission.Handle(context.Background(), queue.Delivery{Body: body, Receives: 2}); err != nil {
		t.Fatal(err)
	}
	rig.Settle(other)
	if got := rig.Task("o-1"); got.State != task.Processed || got.FailureCount != 0 || rig.Clock.Now() != enginetest.Noon() {
		t.Errorf("the task ended as %s at %v, want no attempt and no time lost", enginetest.Line(got), rig.Clock.Now())
	}
	rig.Check("o-1")
}
