package sqsqueue_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"triad/shared/queue"
	"triad/shared/queue/sqsqueue"
)

func TestWaitsAreAskedInPollsOfSQS(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		wait time.Duration
		want []int // seconds of each poll
	}{
		"none":              {0, []int{0}},
		"negative":          {-time.Second, []int{0}},
		"parts of a second": {300 * time.Millisecond, []int{1}},
		"the longest":       {20 * time.Second, []int{20}},
		"longer":            {45 * time.Second, []int{20, 20, 5}},
		"twice the longest": {40 * time.Second, []int{20, 20}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cloud, q := newCloud(nil, sqsqueue.Config{})
				if ds, err := q.Receive(t.Context(), 7, c.wait); err != nil || len(ds) > 0 {
					t.Fatalf("received %d messages, %v, want nothing", len(ds), err)
				}
				var got []int
				for _, in := range cloud.made("ReceiveMessage") {
					got = append(got, in.WaitTimeSeconds)
					equal(t, "max", in.MaxNumberOfMessages, 7)
				}
				equal(t, "polls", got, c.want)
			})
		})
	}
}

func TestMaxIsOneToTen(t *testing.T) {
	t.Parallel()
	cloud, q := newCloud(nil, sqsqueue.Config{})
	for _, max := range []int{-1, 0, 11} {
		if _, err := q.Receive(t.Context(), max, 0); err == nil {
			t.Errorf("receiving at most %d messages: no error", max)
		}
	}
	equal(t, "polls", len(cloud.made("ReceiveMessage")), 0)
}

func TestReceivesAreCounted(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		attributes map[string]string
		want       int
	}{
		"first":    {map[string]string{"ApproximateReceiveCount": "1"}, 1},
		"fourth":   {map[string]string{"ApproximateReceiveCount": "4"}, 4},
		"not told": {nil, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, q := newCloud(func(call) (int, any, error) {
				message := map[string]any{"Body": "x", "MD5OfBody": digest("x"), "ReceiptHandle": "r", "Attributes": c.attributes}
				return http.StatusOK, map[string]any{"Messages": []any{message}}, nil
			}, sqsqueue.Config{})
			ds, err := q.Receive(t.Context(), 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "received", ds, []queue.Delivery{{Body: []byte("x"), Receives: c.want, Receipt: "r"}})
		})
	}
}

// abandon begins a Receive, ends its context after a second, and checks that it
// returns then.
func abandon(t *testing.T, q *sqsqueue.Queue) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	if _, err := q.Receive(ctx, 10, 20*time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("receiving: %v, want %v", err, context.DeadlineExceeded)
	}
	equal(t, "waited", time.Since(began), time.Second)
}

// TestAnAbandonedPollGivesBackWhatItGets: a message that only it received is
// there for others at once, long before its visibility timeout.
func TestAnAbandonedPollGivesBackWhatItGets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cloud, q := newCloud(nil, sqsqueue.Config{})
		abandon(t, q)
		sent := time.Now()
		if err := q.Send(t.Context(), texts("a", "b")...); err != nil {
			t.Fatal(err)
		}
		if err := q.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "released", len(cloud.made("ChangeMessageVisibility")) > 0, true)
		equal(t, "there", cloud.bodies(t) != "", true)
		equal(t, "took", time.Since(sent), 0*time.Second)
	})
}

func TestAnAbandonedPollThatCannotGiveBackIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		_, q := newCloud(func(in call) (int, any, error) {
			if in.Op == "ChangeMessageVisibility" {
				return 0, nil, errReset
			}
			return 0, nil, nil
		}, sqsqueue.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		abandon(t, q)
		if err := q.Send(t.Context(), texts("a")...); err != nil {
			t.Fatal(err)
		}
		if err := q.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "queue=scheduler") {
			t.Errorf("logged %q, want a warning", log.String())
		}
	})
}

func TestDrainWaitsForPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, q := newCloud(nil, sqsqueue.Config{})
		if err := q.Drain(t.Context()); err != nil {
			t.Fatalf("draining a queue that was never used: %v", err)
		}
		abandon(t, q)
		abandon(t, q)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("draining for a second: %v, want %v", err, context.DeadlineExceeded)
		}
		began := time.Now()
		if err := q.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "the second poll had left", time.Since(began), 18*time.Second)
	})
}

// TestAPollWithoutAnswerEnds: a server that hangs does not hold a Receive longer
// than its wait and some grace.
func TestAPollWithoutAnswerEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := sqsqueue.New(client(hanging{}), testURL, sqsqueue.Config{})
		began := time.Now()
		_, err := q.Receive(t.Context(), 1, 5*time.Second)
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("receiving: %v, want an error that is not of the caller's context", err)
		}
		equal(t, "took", time.Since(began), 15*time.Second)
	})
}

// hanging is a transport that never answers.
type hanging struct{}

func (hanging) Do(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}
