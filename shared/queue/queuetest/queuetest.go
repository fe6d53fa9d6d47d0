// Package queuetest is the conformance suite of the queue contract: what package
// queue promises, as tests that every implementation runs.
//
// An implementation inside the process runs it in virtual time (RunVirtual: each
// case in a testing/synctest bubble, so that minutes take no time), one behind a
// socket in real time (Run: cases wait for seconds, side by side). The cases are
// the same. They wait for what must happen rather than for a time to pass, and
// allow Slack where the contract only says "about".
//
// Where implementations may differ, they declare it in their Harness.
package queuetest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"triad/shared/queue"
)

// Slack is how much earlier than asked for a message may come: the clock of a
// service behind a socket counts in seconds.
const Slack = time.Second

// Harness is a new, empty queue and what a case has to know about it.
type Harness struct {
	Queue queue.Queue
	// Visibility is its visibility timeout: whole seconds, as short as the
	// implementation handles reliably; 2 to 5 s suit.
	Visibility time.Duration
	// MaxReceives is how often it delivers a message before it becomes a dead
	// letter. 3 or 4 suit.
	MaxReceives int
	// Capacity is how many messages it holds; 0 when it has no limit.
	Capacity int
	// DeadLetters lists the bodies of its dead letters, in any order; calling
	// it changes nothing.
	DeadLetters func(t *testing.T) [][]byte
	// Redrive begins to move its dead letters back.
	Redrive func(t *testing.T)
	// MayRepeat is true when a message may come twice although nothing
	// expired, as on AWS.
	MayRepeat bool
	// StaleDeletes is true when a stale receipt may still delete, as on AWS.
	StaleDeletes bool
}

// Open makes a queue for one case and registers its clean-up with t.
type Open func(t *testing.T) Harness

// Run runs the suite in real time, all cases in parallel.
func Run(t *testing.T, open Open) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newSubject(t, open(t)))
		})
	}
}

// RunVirtual runs the suite in virtual time. The queue must live in this process
// and go by package time.
func RunVirtual(t *testing.T, open Open) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { c.run(newSubject(t, open(t))) })
		})
	}
}

type testCase struct {
	name string
	run  func(*subject)
}

func cases() []testCase {
	return []testCase{
		{"a message is received with its body and is gone once deleted", receivedAndDeleted},
		{"sending nothing is no error", sendsNothing},
		{"bodies arrive byte for byte", bodiesArrive},
		{"an empty body is refused", refusesEmpty},
		{"a body that is too large is refused", refusesTooLarge},
		{"a partly failed send names the messages that failed", namesFailures},
		{"more messages than fit a batch are all sent", sendsMany},
		{"a receive returns at most max messages", limitsReceive},
		{"a receive without messages returns none after its wait", waitsInVain},
		{"a waiting receive returns when a message is sent", wakesOnSend},
		{"a waiting receive returns when its context ends", endsWithContext},
		{"a cancelled context sends nothing", cancelledSend},
		{"a delayed message comes after its delay", delays},
		{"a message in flight is invisible and comes back after the timeout", comesBack},
		{"a released message comes back at once", releasesNow},
		{"a message released for later comes later than the timeout", releasesLater},
		{"a release holds once", releaseHoldsOnce},
		{"deleting with a stale receipt is no error", deletesStale},
		{"deleting again is no error and deletes the others", deletesAgain},
		{"a message received too often becomes a dead letter", buries},
		{"a redriven dead letter starts anew", redrives},
		{"depth counts what is visible, delayed and in flight", countsDepth},
		{"a full queue refuses what has no room", refusesBeyondCapacity},
		{"competing consumers share the messages", shares},
		{"messages of groups all come, delayed ones in time", groups},
	}
}

// subject is the queue of a case, with the steps that cases are made of. Each
// ends the test when the queue fails.
type subject struct {
	*testing.T
	Harness
	ctx context.Context
}

func newSubject(t *testing.T, h Harness) *subject {
	t.Helper()
	if h.Queue == nil || h.Visibility < time.Second || h.MaxReceives < 2 || h.DeadLetters == nil || h.Redrive == nil {
		t.Fatalf("harness is incomplete: %+v", h)
	}
	return &subject{T: t, Harness: h, ctx: t.Context()}
}

// patience is how long a case waits for what must happen.
func (s *subject) patience() time.Duration { return 4*s.Visibility + 20*time.Second }

func (s *subject) send(bodies ...string) {
	s.Helper()
	msgs := make([]queue.Message, len(bodies))
	for i, b := range bodies {
		msgs[i].Body = []byte(b)
	}
	if err := s.Queue.Send(s.ctx, msgs...); err != nil {
		s.Fatalf("sending %d messages: %v", len(msgs), err)
	}
}

// poll is one Receive.
func (s *subject) poll(max int, wait time.Duration) []queue.Delivery {
	s.Helper()
	ds, err := s.Queue.Receive(s.ctx, max, wait)
	if err != nil {
		s.Fatalf("receiving: %v", err)
	}
	if len(ds) > max {
		s.Fatalf("received %d messages, asked for at most %d", len(ds), max)
	}
	return ds
}

// receive receives until it has n messages, one or more at a time.
func (s *subject) receive(n int) []queue.Delivery {
	s.Helper()
	var all []queue.Delivery
	for began := time.Now(); len(all) < n; {
		if time.Since(began) > s.patience() {
			s.Fatalf("received %d messages in %v, want %d", len(all), s.patience(), n)
		}
		all = append(all, s.poll(min(10, n-len(all)), 5*time.Second)...)
	}
	return all
}

// one receives one message.
func (s *subject) one() queue.Delivery {
	s.Helper()
	return s.receive(1)[0]
}

// nothing receives for a while and fails when something comes.
func (s *subject) nothing(d time.Duration) {
	s.Helper()
	if got := s.poll(1, d); len(got) > 0 {
		s.Fatalf("received %.40q (number %d), want nothing", got[0].Body, got[0].Receives)
	}
}

func (s *subject) delete(ds ...queue.Delivery) {
	s.Helper()
	receipts := make([]string, len(ds))
	for i, d := range ds {
		receipts[i] = d.Receipt
	}
	if err := s.Queue.Delete(s.ctx, receipts...); err != nil {
		s.Fatalf("deleting %d deliveries: %v", len(ds), err)
	}
}

func (s *subject) release(d queue.Delivery, after time.Duration) {
	s.Helper()
	if err := s.Queue.Release(s.ctx, d.Receipt, after); err != nil {
		s.Fatalf("releasing: %v", err)
	}
}

// eventually waits until is returns "", else fails with what it said last.
func (s *subject) eventually(is func() string) {
	s.Helper()
	for began := time.Now(); ; <-time.After(200 * time.Millisecond) {
		complaint := is()
		if complaint == "" {
			return
		}
		if time.Since(began) > s.patience() {
			s.Fatalf("after %v: %s", s.patience(), complaint)
		}
	}
}

// notBefore fails when less than d has passed since began.
func (s *subject) notBefore(began time.Time, d time.Duration) {
	s.Helper()
	if took := time.Since(began); took < d-Slack {
		s.Fatalf("the message came after %v, want not before %v", took, d)
	}
}
