package count_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/infra/cost/count"
	"triad/infra/standin"
)

const (
	orders   = 10
	kilobyte = 1_024
	keep     = 90 * 24 * time.Hour // the stack's default
)

// bounds is what an order may cost at most, whatever its batches are.
type bounds struct {
	writes   float64 // units
	index    float64 // of these
	messages int
}

// TestWhatAnOrderCosts: with every step at once, 4 write units for order and task
// in a transaction, 1 for each completion and 2 for the index; and 2 messages for
// each of 5 steps after the submission. A timeout adds the record's reset and
// second claim, with what moves in the index, a request and a wake-up; an undo
// adds a write, a request and a reply.
func TestWhatAnOrderCosts(t *testing.T) {
	t.Parallel()
	stage := count.On(standin.DynamoDB(t), standin.ElasticMQ(t))
	for path, most := range map[count.Path]bounds{
		count.Plain:       {writes: 11, index: 2, messages: 11},
		count.Retried:     {writes: 17, index: 6, messages: 13},
		count.Compensated: {writes: 15, index: 2, messages: 19},
	} {
		for _, batch := range []int{1, 5, 10} {
			t.Run(fmt.Sprintf("%s, batches of %d", path, batch), func(t *testing.T) {
				t.Parallel()
				c, err := stage.Run(t.Context(), count.Config{Path: path, Tasks: orders, Batch: batch, Keep: keep})
				if err != nil {
					t.Fatal(err)
				}
				if got := c.Writes.Total() / orders; got > most.writes {
					t.Errorf("an order costs %v write units, want at most %v", got, most.writes)
				}
				if got := c.Writes.Index / orders; got > most.index {
					t.Errorf("an order costs %v write units of the index, want at most %v", got, most.index)
				}
				if c.Messages > most.messages*orders {
					t.Errorf("%d orders had %d messages, want at most %d each", orders, c.Messages, most.messages)
				}
				if c.LargestItem > kilobyte || c.LargestItem == 0 {
					t.Errorf("an item had %d bytes, want 1 to %d", c.LargestItem, kilobyte)
				}
			})
		}
	}
}

// TestBatchesShareCalls: of a full batch of requests or replies one message goes
// alone and the others together; the application sends a batch in one call. A
// receive, an invocation and a delete serve a batch.
func TestBatchesShareCalls(t *testing.T) {
	t.Parallel()
	stage := count.On(standin.DynamoDB(t), standin.ElasticMQ(t))
	for batch, want := range map[int]count.Requests{
		1:  {Send: 110, Receive: 110, Delete: 110, Notices: 20},
		5:  {Send: 42, Receive: 22, Delete: 22, Notices: 20},
		10: {Send: 21, Receive: 11, Delete: 11, Notices: 20},
	} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			t.Parallel()
			got, err := stage.Run(t.Context(), count.Config{Path: count.Plain, Tasks: orders, Batch: batch})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got.Requests, want); diff != "" {
				t.Errorf("requests (-got +want):\n%s", diff)
			}
			invocations := map[string]int{"submission": orders / batch, "scheduler": 5 * orders / batch, "agents": 5 * orders / batch}
			if diff := cmp.Diff(got.Invocations, invocations); diff != "" {
				t.Errorf("invocations (-got +want):\n%s", diff)
			}
		})
	}
}

// TestALargeOrderIsBilledByThe64KB: it is in the submission and in each request,
// and in no reply. Deletes carry receipts only.
func TestALargeOrderIsBilledByThe64KB(t *testing.T) {
	t.Parallel()
	stage := count.On(standin.DynamoDB(t), standin.ElasticMQ(t))
	order, err := json.Marshal(map[string]string{"note": strings.Repeat("n", 70_000)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := stage.Run(t.Context(), count.Config{Path: count.Plain, Tasks: 1, Batch: 1, Order: order})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got.Requests, count.Requests{Send: 17, Receive: 17, Delete: 11, Notices: 2}); diff != "" {
		t.Errorf("requests (-got +want):\n%s", diff)
	}
	if got.Writes.Tasks != 7 || got.Writes.Orders != 2*69 || got.LargestItem > kilobyte {
		t.Errorf("got %+v and an item of %d bytes, want the order's bytes in Orders only", got.Writes, got.LargestItem)
	}
}

func TestARunThatCanNotBeIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]count.Config{
		"no order":              {Path: count.Plain, Tasks: 0, Batch: 1},
		"no batch":              {Path: count.Plain, Tasks: 1, Batch: 0},
		"a batch beyond a call": {Path: count.Plain, Tasks: 1, Batch: count.MaxBatch + 1},
	} {
		if _, err := count.On("", "").Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "take 1 order or more") {
			t.Errorf("%s: got error %v, want what to take instead", name, err)
		}
	}
}
