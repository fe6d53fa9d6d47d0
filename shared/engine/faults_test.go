package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/engine/enginetest"
	"triad/shared/task"
)

// The fault of one write of an order, or of one send: how, and for how many
// tries in a row. Three outlast the engine's own repeats: the message comes back.
var faults = []struct {
	name  string
	fault enginetest.Fault
	tries int
}{
	{"lost once", enginetest.Lost, 1},
	{"lost until the message comes again", enginetest.Lost, 3},
	{"applied but reported failed", enginetest.Applied, 1},
	{"applied but reported failed until the message comes again", enginetest.Applied, 3},
}

const orderWrites = 6 // one for each step and one more

func TestEveryWriteOfAnOrderMayFail(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		for n := 1; n <= orderWrites; n++ {
			t.Run(fmt.Sprintf("write %d is %s", n, f.name), func(t *testing.T) {
				t.Parallel()
				rig := enginetest.New(t)
				rig.Table.Write = func(write, try int) enginetest.Fault {
					if write == n && try <= f.tries {
						return f.fault
					}
					return enginetest.None
				}
				rig.Enqueue(enginetest.Submission("o-1"))
				rig.Settle(rig.Start("one"), rig.Start("two"))
				neverTimedOut(t, rig)
				endsProcessed(t, rig)
			})
		}
	}
}

// TestEverySendOfAnOrderMayFail loses requests and replies. The redelivery of the
// message that led to it brings each back, and no attempt is lost.
func TestEverySendOfAnOrderMayFail(t *testing.T) {
	t.Parallel()
	const sends = 10 // a request and a reply for each step
	for _, f := range []enginetest.Fault{enginetest.Lost, enginetest.Applied} {
		for n := 1; n <= sends; n++ {
			t.Run(fmt.Sprintf("send %d, fault %d", n, f), func(t *testing.T) {
				t.Parallel()
				rig := enginetest.New(t)
				rig.Queues.FailSends(func(send int) enginetest.Fault {
					if send == n {
						return f
					}
					return enginetest.None
				})
				rig.Enqueue(enginetest.Submission("o-1"))
				rig.Settle(rig.Start("one"))
				neverTimedOut(t, rig)
				endsProcessed(t, rig)
			})
		}
	}
}

func TestEveryNoticeOfAnOrderMayFail(t *testing.T) {
	t.Parallel()
	for _, f := range []enginetest.Fault{enginetest.Lost, enginetest.Applied} {
		for n := 1; n <= 2; n++ { // that it was received, and its end
			rig := enginetest.New(t)
			rig.Outlet.Fail = func(call int) enginetest.Fault {
				if call == n {
					return f
				}
				return enginetest.None
			}
			rig.Enqueue(enginetest.Submission("o-1"))
			rig.Settle(rig.Start("one"))
			neverTimedOut(t, rig)
			endsProcessed(t, rig)
			for _, notice := range []string{"o-1/Received/0", "o-1/Processed/0"} {
				if rig.Outlet.Told[notice] < 1 {
					t.Errorf("call %d, fault %d: told %v, want %s among it", n, f, rig.Outlet.Told, notice)
				}
			}
		}
	}
}

// TestEveryWriteAndSendOfAnUndoneOrderMayFail takes the long way: a step that
// fails until it is given up on, and everything undone.
func TestEveryWriteAndSendOfAnUndoneOrderMayFail(t *testing.T) {
	t.Parallel()
	newRig := func(t *testing.T) *enginetest.Rig {
		rig := enginetest.New(t)
		rig.Services.Answer = func(r task.Request) task.Reply {
			if r.Step == "pack" {
				return task.Reply{Outcome: task.FailedTransiently, Error: "warehouse is closed"}
			}
			return task.Reply{Outcome: task.Succeeded}
		}
		rig.Enqueue(enginetest.Submission("o-1"))
		return rig
	}
	plain := newRig(t)
	plain.Settle(plain.Start("one"))
	writes, sends := plain.Table.Writes(), plain.Queues.Sends()
	if writes < 10 || sends < 10 {
		t.Fatalf("%d writes and %d sends: the order did not go the long way", writes, sends)
	}
	for _, f := range faults {
		for n := 1; n <= writes; n++ {
			rig := newRig(t)
			rig.Table.Write = func(write, try int) enginetest.Fault {
				if write == n && try <= f.tries {
					return f.fault
				}
				return enginetest.None
			}
			rig.Settle(rig.Start("one"), rig.Start("two"))
			endsCompensated(t, rig, fmt.Sprintf("write %d %s", n, f.name))
		}
		for n := 1; n <= sends; n++ {
			rig := newRig(t)
			rig.Queues.FailSends(func(send int) enginetest.Fault {
				if send >= n && send < n+f.tries {
					return f.fault
				}
				return enginetest.None
			})
			rig.Settle(rig.Start("one"), rig.Start("two"))
			endsCompensated(t, rig, fmt.Sprintf("send %d %s", n, f.name))
		}
	}
}

// TestTheQueuesMayBeLostAfterEveryWrite stops all processes after the n-th
// write with their queues in memory, and starts others on the table.
func TestTheQueuesMayBeLostAfterEveryWrite(t *testing.T) {
	t.Parallel()
	for n := 1; n <= orderWrites; n++ {
		rig := enginetest.New(t)
		one := rig.Start("one")
		rig.Enqueue(enginetest.Submission("o-1"))
		for rig.Table.Writes() < n && rig.Deliver(one) {
		}
		rig.Lose()
		two := rig.Start("two")
		for _, row := range rig.Due(0) {
			if err := two.Engine.Wake(context.Background(), task.Wake{Task: row.ID}); err != nil {
				t.Fatal(err)
			}
		}
		rig.Settle(two)
		neverTimedOut(t, rig)
		endsProcessed(t, rig)
	}
}

// neverTimedOut says that everything was mended at once, and not by a deadline.
func neverTimedOut(t *testing.T, rig *enginetest.Rig) {
	t.Helper()
	if got := rig.Clock.Now(); !got.Equal(enginetest.Noon()) {
		t.Errorf("it took until %v: a deadline mended it, want a message to", got)
	}
	if got := rig.Task("o-1"); got.FailureCount != 0 {
		t.Errorf("an attempt was lost: %s", enginetest.Line(got))
	}
}

func endsProcessed(t *testing.T, rig *enginetest.Rig) {
	t.Helper()
	if got := rig.Task("o-1"); got.State != task.Processed {
		t.Errorf("the task ended as %s", enginetest.Line(got))
	}
	if diff := cmp.Diff(enginetest.Keys(), rig.Services.Effects()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	rig.Check("o-1")
}

func endsCompensated(t *testing.T, rig *enginetest.Rig, fault string) {
	t.Helper()
	if got := rig.Task("o-1"); got.State != task.Compensated {
		t.Errorf("%s: the task ended as %s", fault, enginetest.Line(got))
	}
	want := []string{"o-1/charge", "o-1/charge/undo", "o-1/pack", "o-1/reserve", "o-1/reserve/undo"}
	if diff := cmp.Diff(want, rig.Services.Effects()); diff != "" {
		t.Errorf("%s: keys (-want +got):\n%s", fault, diff)
	}
	rig.Check("o-1")
}
