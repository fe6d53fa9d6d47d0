package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/consumer"
	"triad/shared/queue"
	"triad/shared/queue/memqueue"
)

var errHandler = errors.New("service unavailable")

// rig is a consumer at work on a queue, inside a synctest bubble. Handlers log
// "begin BODY" and "end BODY"; the bodies that are held wait in between until
// let go or until their context ends.
type rig struct {
	t *testing.T
	*consumer.Consumer
	queue *memqueue.Queue
	stop  context.CancelFunc
	ended chan error

	mu    sync.Mutex
	log   []string
	holds map[string]chan struct{}
	fails map[string]int // how often still
}

type options struct {
	config consumer.Config
	queue  memqueue.Config
	hold   []string
	fail   map[string]int
	send   []string // before the consumer starts
}

func start(t *testing.T, o options) *rig {
	t.Helper()
	r := &rig{t: t, queue: memqueue.New(o.queue), holds: make(map[string]chan struct{}), fails: o.fail}
	for _, body := range o.hold {
		r.holds[body] = make(chan struct{})
	}
	r.send(o.send...)
	o.config.Queue = r.queue
	if o.config.Handle == nil {
		o.config.Handle = r.handle
	}
	r.Consumer = consumer.New(o.config)
	r.run()
	return r
}

func (r *rig) run() {
	ctx, stop := context.WithCancel(context.Background())
	r.stop, r.ended = stop, make(chan error, 1)
	go func() { r.ended <- r.Run(ctx) }()
	synctest.Wait()
}

func (r *rig) handle(ctx context.Context, d queue.Delivery) error {
	body := string(d.Body)
	r.note("begin " + body)
	if hold := r.holds[body]; hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			r.note("cancelled " + body)
			return ctx.Err()
		}
	}
	r.note("end " + body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails[body] > 0 {
		r.fails[body]--
		return errHandler
	}
	return nil
}

func (r *rig) note(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, line)
}

func (r *rig) send(bodies ...string) {
	r.t.Helper()
	for _, b := range bodies {
		if err := r.queue.Send(context.Background(), queue.Message{Body: []byte(b)}); err != nil {
			r.t.Fatalf("sending %s: %v", b, err)
		}
	}
}

func (r *rig) letGo(body string) {
	close(r.holds[body])
	synctest.Wait()
}

// lines returns what was logged, sorted, and forgets it.
func (r *rig) lines() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.log)
	all := strings.Join(r.log, ", ")
	r.log = nil
	return all
}

func (r *rig) depth() queue.Depth {
	r.t.Helper()
	d, err := r.queue.Depth(context.Background())
	if err != nil {
		r.t.Fatalf("counting: %v", err)
	}
	return d
}

// end stops the consumer and returns what Run returned.
func (r *rig) end() error {
	r.stop()
	return <-r.ended
}

func (r *rig) endWell() {
	r.t.Helper()
	if err := r.end(); err != nil {
		r.t.Errorf("Run returned: %v", err)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

func TestHandledMessageIsDeletedAndNotBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, options{hold: []string{"a"}, send: []string{"a"}})
		equal(t, "depth while handled", r.depth(), queue.Depth{InFlight: 1})
		equal(t, "stats", r.Stats(), consumer.Stats{InFlight: 1})
		r.letGo("a")
		equal(t, "depth afterwards", r.depth(), queue.Depth{})
		equal(t, "stats", r.Stats(), consumer.Stats{Handled: 1})
		r.endWell()
		equal(t, "log", r.lines(), "begin a, end a")
	})
}

func TestFailedMessageComesAgainAfterABackoff(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errHandler },
		"panic": func() error { panic("index out of range") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var at []time.Time
				r := start(t, options{
					queue: memqueue.Config{MaxReceives: 20, Visibility: time.Hour},
					send:  []string{"x"},
					config: consumer.Config{MaxBackoff: 2 * time.Second, Handle: func(_ context.Context, d queue.Delivery) error {
						if at = append(at, time.Now()); d.Receives != len(at) {
							t.Errorf("receives is %d, want %d", d.Receives, len(at))
						}
						if len(at) < 8 {
							return fail()
						}
						return nil
					}},
				})
				<-time.After(time.Minute)
				if len(at) != 8 {
					t.Fatalf("it was handled %d times in a minute, want 8", len(at))
				}
				for i, most := range []time.Duration{200, 400, 800, 1600, 2000, 2000, 2000} {
					most *= time.Millisecond
					if wait := at[i+1].Sub(at[i]); wait < most/2 || wait > most {
						t.Errorf("wait %d is %v, want %v to %v", i+1, wait, most/2, most)
					}
				}
				want := consumer.Stats{Handled: 1, Failed: 7}
				if name == "panic" {
					want.Panicked = 7
				}
				equal(t, "stats", r.Stats(), want)
				equal(t, "depth", r.depth(), queue.Depth{})
				r.endWell()
			})
		})
	}
}

func TestMessageThatAlwaysFailsBecomesADeadLetter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, options{
			queue: memqueue.Config{MaxReceives: 3},
			fail:  map[string]int{"poison": 99},
			send:  []string{"poison", "a"},
		})
		<-time.After(time.Minute)
		equal(t, "stats", r.Stats(), consumer.Stats{Handled: 1, Failed: 3})
		equal(t, "dead letters", r.queue.DeadLetters(), []queue.Delivery{{Body: []byte("poison"), Receives: 3}})
		r.endWell()
	})
}

func TestSlowMessageHoldsBackNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, options{
			config: consumer.Config{Concurrency: 2},
			hold:   []string{"slow"},
			send:   []string{"a", "slow", "b", "c", "d"},
		})
		r.send("e")
		synctest.Wait()
		equal(t, "stats", r.Stats(), consumer.Stats{Handled: 5, InFlight: 1})
		r.letGo("slow")
		r.endWell()
		equal(t, "stats", r.Stats(), consumer.Stats{Handled: 6})
	})
}

func TestOnlyAsManyAreReceivedAsCanBeHandled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		all := strings.Fields("0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15")
		r := start(t, options{config: consumer.Config{Concurrency: 12, Receivers: 2}, hold: all, send: all})
		equal(t, "depth", r.depth(), queue.Depth{Visible: 4, InFlight: 12})
		equal(t, "stats", r.Stats(), consumer.Stats{InFlight: 12})
		r.letGo("3")
		equal(t, "depth after one", r.depth(), queue.Depth{Visible: 3, InFlight: 12})
		for _, b := range slices.DeleteFunc(all, func(b string) bool { return b == "3" }) {
			r.letGo(b)
		}
		equal(t, "stats", r.Stats(), consumer.Stats{Handled: 16})
		r.endWell()
	})
}

func TestCompetingConsumersHandleEachMessageOnce(t *testing.T) {
	for _, c := range []struct{ concurrency, receivers int }{{1, 1}, {1, 3}, {2, 3}, {7, 2}, {64, 1}} {
		t.Run(fmt.Sprintf("concurrency %d, receivers %d", c.concurrency, c.receivers), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				const n = 400
				var mu sync.Mutex
				handled := make(map[string]int)
				q := memqueue.New(memqueue.Config{})
				config := consumer.Config{
					Queue: q, Concurrency: c.concurrency, Receivers: c.receivers,
					Key: func(body []byte) string { return string(body[:1]) },
					Handle: func(_ context.Context, d queue.Delivery) error {
						mu.Lock()
						defer mu.Unlock()
						handled[string(d.Body)]++
						return nil
					},
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error)
				for range 2 {
					go func() { ended <- consumer.New(config).Run(ctx) }()
				}
				for i := range n {
					if err := q.Send(ctx, queue.Message{Body: fmt.Append(nil, i)}); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				stop()
				if err := errors.Join(<-ended, <-ended); err != nil {
					t.Error(err)
				}
				for body, times := range handled {
					if times != 1 {
						t.Errorf("message %s was handled %d times", body, times)
					}
				}
				equal(t, "messages handled", len(handled), n)
			})
		})
	}
}

func TestNewNeedsAQueueAndAHandler(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	consumer.New(consumer.Config{})
}
