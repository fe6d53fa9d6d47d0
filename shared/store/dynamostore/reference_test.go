package dynamostore_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"triad/shared/store"
	"triad/shared/store/dynamostore"
	"triad/shared/task"
)

const (
	created = task.Millis(1_792_238_461_357)
	// instance has the most characters that an engine is to be given.
	instance = "scheduler-7f9c4d"
	kilobyte = 1_024
	// keep has tasks expire long after the tests: DynamoDB Local does delete.
	keep = 50 * 365 * 24 * time.Hour
)

// reference is the five-step order that the size and the cost are measured with.
func reference() task.Workflow {
	w := task.Workflow{Name: "order", Version: 1, CompleteWithin: 24*time.Hour + 1357*time.Millisecond, OnOverdue: task.OnError}
	for i, name := range []string{"reserve", "charge", "pack", "ship", "confirm"} {
		s := task.Step{
			Name: name, Agent: name, CompleteWithin: 10 * time.Second, OnExhausted: task.OnCompensate,
			Retry: task.Retry{Attempts: 4, First: time.Second, Factor: 2, Max: time.Minute},
			Undo:  &task.Undo{CompleteWithin: 10 * time.Second, Retry: task.Retry{Attempts: 10, First: time.Second, Factor: 2, Max: time.Minute}},
		}
		if i > 0 {
			s.After = []int{i - 1}
		}
		w.Steps = append(w.Steps, s)
	}
	return w
}

// run is an order on its way: each event is decided and written.
type run struct {
	t     *testing.T
	s     *dynamostore.Store
	w     task.Workflow
	now   task.Millis
	task  task.Task
	write func(what string, t task.Task) // called after each write
}

// submit writes the order.
func (r *run) submit(id task.ID) {
	r.t.Helper()
	r.apply("submission", task.Event{Kind: task.Submitted, Shards: 16, Submission: &task.Submission{
		ID: id, Workflow: "order", ResponseQueue: "order-notices", Tenant: "shop-eu", Order: json.RawMessage(`{"item":"spade","n":1,"total":12.5}`),
	}})
}

// reply answers the live attempt of a step.
func (r *run) reply(step string, outcome task.Outcome) {
	r.t.Helper()
	s, _ := r.task.Step(step)
	e := task.Event{Kind: task.Replied, Step: step, Attempt: s.Attempt, LockedBy: s.LockedBy, Outcome: outcome,
		Undo: s.State == task.Compensating, Output: json.RawMessage(`{"id":"res-8f3a2c91","ok":true}`)}
	if outcome != task.Succeeded {
		e.Output, e.Error = nil, "the service answered 503 Service Unavailable to PUT /effects/order-2026-10-17-000001/"+step
	}
	r.apply(fmt.Sprintf("%s of %s", outcome, step), e)
}

func (r *run) apply(what string, e task.Event) {
	r.t.Helper()
	r.now += 1_357
	e.By = instance
	d, err := task.Decide(r.w, r.task, e, r.now.Time())
	if err != nil || !d.Changed {
		r.t.Fatalf("%s: %s %s, error %v", what, d.Verdict, d.Why, err)
	}
	d.Task.Op = instance + "." + fmt.Sprint(100_000+d.Task.Version)
	c := store.Change{Task: d.Task, Locks: d.Locks, Outputs: d.Outputs}
	put := r.s.Commit
	if e.Kind == task.Submitted {
		put = r.s.Create
	}
	if err := put(r.t.Context(), c); err != nil {
		r.t.Fatal(err)
	}
	if r.task, err = r.s.Load(r.t.Context(), d.Task.ID); err != nil {
		r.t.Fatal(err)
	}
	if diff := cmp.Diff(r.task, d.Task, cmpopts.EquateEmpty()); diff != "" {
		r.t.Fatalf("%s: loaded (-got +want):\n%s", what, diff)
	}
	r.write(what, r.task)
}

// unit is a write and what it cost, as DynamoDB tells.
type unit struct {
	what         string
	bytes        int
	table, index float64
}

// TestFiveStepOrderStaysInOneKilobyteAndHasItsPrice: it costs 4 units for order
// and task, 1 for each completion and 2 for the index, whether it is to expire
// or not.
func TestFiveStepOrderStaysInOneKilobyteAndHasItsPrice(t *testing.T) {
	t.Parallel()
	const most = 11
	for name, kept := range map[string]time.Duration{"kept for ever": 0, "kept for a time": keep} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, config := tables(t)
			config.Keep = kept
			units := price(t, client, config)
			var report strings.Builder
			var table, index float64
			for _, u := range units {
				fmt.Fprintf(&report, "\n%-24s %6d bytes %6.1f table %6.1f index", u.what, u.bytes, u.table, u.index)
				table, index = table+u.table, index+u.index
			}
			t.Logf("write units of an order of five steps:%s\n%-37s %6.1f table %6.1f index, %.1f in all", report.String(), "sum", table, index, table+index)
			if table+index > most {
				t.Errorf("the order cost %.1f write units, want at most %v", table+index, most)
			}
		})
	}
}

// price takes an order to its end.
func price(t *testing.T, client dynamostore.Client, config dynamostore.Config) (units []unit) {
	t.Helper()
	meter := &metered{Client: client}
	r := &run{t: t, s: dynamostore.New(meter, config), w: reference(), now: created}
	r.write = func(what string, v task.Task) {
		n, err := dynamostore.Size(v, config.Keep)
		if err != nil || n > kilobyte {
			t.Errorf("%s: the item has %d bytes, want at most %d (error %v)", what, n, kilobyte, err)
		}
		table, index := meter.read()
		units = append(units, unit{what, n, table, index})
	}
	r.submit("order-2026-10-17-000001")
	for _, s := range r.w.Steps {
		r.reply(s.Name, task.Succeeded)
	}
	if r.task.State != task.Processed {
		t.Fatalf("the order is %s, want it %s", r.task.State, task.Processed)
	}
	return units
}

func TestFailingOrderStaysInOneKilobyteInEveryPhase(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	config.Keep = keep
	r := &run{t: t, s: dynamostore.New(client, config), w: reference(), now: created}
	most := 0
	r.write = func(what string, v task.Task) {
		n, err := dynamostore.Size(v, keep)
		if most = max(most, n); err != nil || n > kilobyte {
			t.Errorf("%s: the item has %d bytes, want at most %d (error %v)", what, n, kilobyte, err)
		}
	}
	r.submit("order-2026-10-17-000001")
	for _, s := range r.w.Steps[:4] {
		r.reply(s.Name, task.FailedTransiently)
		r.now += 60_000
		r.apply("retry of "+s.Name, task.Event{Kind: task.Woken})
		r.reply(s.Name, task.Succeeded)
	}
	r.reply("confirm", task.FailedPermanently)
	for !r.task.State.Finished() {
		for _, s := range r.task.Steps {
			if s.Live() {
				r.reply(s.Name, task.Succeeded)
			}
		}
	}
	if r.task.State != task.Compensated {
		t.Errorf("the order is %s, want it %s", r.task.State, task.Compensated)
	}
	t.Logf("the largest item had %d bytes", most)
}

func TestReferenceOrderStaysInOneKilobyteAtItsWorst(t *testing.T) {
	t.Parallel()
	processed := func(i int, s *task.StepState) {
		s.State, s.Attempt, s.Rank = task.Processed, 2, int64(2*i)
		s.StartedAt, s.EndedAt = created+task.Millis(i)*41_357, created+task.Millis(i)*41_357+31_234
		s.Output = json.RawMessage(`{"id":"res-8f3a2c91","ok":true}`)
	}
	phases := map[string]func(*task.Task, int, *task.StepState){
		"every step live": func(_ *task.Task, _ int, s *task.StepState) {
			s.State, s.Attempt, s.LockedBy, s.FailureCount = task.Processing, 3, instance, 2
			s.CompleteBy, s.StartedAt = created+11_357, created+1
		},
		"failed at the last step": func(v *task.Task, i int, s *task.StepState) {
			if processed(i, s); i == 4 {
				s.State, s.FailureCount, s.Doubt, s.Error, s.Output = task.Error, 4, true, strings.Repeat("e", task.MaxError), nil
				v.State, v.Reason, v.CompleteBy, v.FailureCount, v.EndedAt = task.Error, "confirm: "+s.Error[:60], 0, 4, created+987_654
			}
		},
		"being undone": func(v *task.Task, i int, s *task.StepState) {
			processed(i, s)
			v.State, v.Goal, v.Reason = task.Compensating, task.Compensated, "charge: card declined"
			if s.State, s.Undo = task.Compensated, true; i == 0 {
				s.State, s.LockedBy, s.CompleteBy = task.Compensating, instance, created+201_357
			}
		},
	}
	for name, change := range phases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := task.Task{
				ID: "order-2026-10-17-000001", Workflow: "order@1", State: task.Processing, Version: 1_234,
				Op: instance + ".18446744", LockedBy: instance, CompleteBy: created + 10_357, Deadline: created + 86_401_357,
				Shard: 11, ResponseQueue: "order-notices", Tenant: "shop-eu", CreatedAt: created,
				OrderHash: "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU", Steps: make([]task.StepState, 5),
			}
			for i, s := range reference().Steps {
				v.Steps[i].Name = s.Name
				change(&v, i, &v.Steps[i])
			}
			n, err := dynamostore.Size(v, keep)
			if err != nil || n > kilobyte {
				t.Errorf("the item has %d bytes, want at most %d (error %v)", n, kilobyte, err)
			}
			t.Logf("%d bytes", n)
		})
	}
}

// TestSizeIsWhatIsBilled: the last byte of a kilobyte costs nothing, the next
// one a unit more.
func TestSizeIsWhatIsBilled(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	meter := &metered{Client: client}
	s := dynamostore.New(meter, config)
	v := everything("order-1")
	create(t, s, v)
	for target, want := range map[int]float64{kilobyte: 1, kilobyte + 1: 2, 2 * kilobyte: 2, 2*kilobyte + 1: 3} {
		v := everything(task.ID(fmt.Sprintf("order-%04d", target)))
		for {
			n, err := dynamostore.Size(v, config.Keep)
			if err != nil {
				t.Fatal(err)
			}
			if n == target {
				break
			}
			v.Reason += strings.Repeat("r", target-n)
		}
		create(t, s, v)
		meter.read()
		v.Version, v.Op = 2, "op-2"
		commit(t, s, v)
		if table, index := meter.read(); table != want || index != 0 {
			t.Errorf("an item of %d bytes cost %v units and %v of the index, want %v and 0", target, table, index, want)
		}
	}
}
