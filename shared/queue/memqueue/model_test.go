package memqueue_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"triad/shared/queue"
	"triad/shared/queue/memqueue"
)

// TestRandomUseAgreesWithAModel uses a queue at random and compares each answer
// with that of a model that knows no data structures but a map.
func TestRandomUseAgreesWithAModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		m := newModel(seed)
		for step := range 400 {
			if complaint := m.step(t); complaint != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, complaint)
			}
		}
	}
}

const (
	modelVisibility = 10 * time.Second
	modelReceives   = 3
	modelCapacity   = 30
)

// modelled is a message as the model sees it.
type modelled struct {
	due      time.Time // visible from then on
	receives int
	receipt  string
}

type model struct {
	rng   *rand.Rand
	now   time.Time
	queue *memqueue.Queue
	all   map[string]*modelled
	dead  int
	sent  int
	used  []string // all receipts there ever were
}

func newModel(seed uint64) *model {
	m := &model{
		rng: rand.New(rand.NewPCG(seed, 1)),
		now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		all: make(map[string]*modelled),
	}
	m.queue = memqueue.New(memqueue.Config{
		Visibility: modelVisibility, MaxReceives: modelReceives, Capacity: modelCapacity, DeadCapacity: 1000,
		Clock: func() time.Time { return m.now },
	})
	return m
}

// step does one thing at random and says what is wrong with the answer.
func (m *model) step(t *testing.T) string {
	switch m.rng.IntN(10) {
	case 0, 1, 2:
		return m.send(t)
	case 3:
		return m.receive(t)
	case 4:
		m.now = m.now.Add(time.Duration(m.rng.IntN(9)) * time.Second)
		return ""
	case 5:
		return m.delete(t)
	case 6, 7, 8:
		return m.release(t)
	}
	return m.depth(t)
}

func (m *model) send(t *testing.T) string {
	body := fmt.Sprintf("m%d", m.sent)
	m.sent++
	delay := time.Duration(max(0, m.rng.IntN(12)-6)) * time.Second
	group := []string{"", "a", "b", "c"}[m.rng.IntN(4)]
	err := m.queue.Send(t.Context(), queue.Message{Body: []byte(body), Delay: delay, Group: group})
	if full := len(m.all) == modelCapacity; full != (err != nil) {
		return fmt.Sprintf("sending with %d messages there: %v", len(m.all), err)
	}
	if err == nil {
		m.all[body] = &modelled{due: m.now.Add(delay)}
	}
	return ""
}

func (m *model) receive(t *testing.T) string {
	atMost := 1 + m.rng.IntN(10)
	ds, err := m.queue.Receive(t.Context(), atMost, 0)
	if err != nil {
		return err.Error()
	}
	for _, d := range ds {
		x := m.all[string(d.Body)]
		if x == nil || x.due.After(m.now) || x.receives >= modelReceives || d.Receives != x.receives+1 {
			return fmt.Sprintf("received %s for the %d. time, the model has %+v", d.Body, d.Receives, x)
		}
		x.receives, x.receipt, x.due = d.Receives, d.Receipt, m.now.Add(modelVisibility)
		m.used = append(m.used, d.Receipt)
	}
	for _, d := range m.queue.DeadLetters()[m.dead:] {
		x := m.all[string(d.Body)]
		if x == nil || x.due.After(m.now) || x.receives != modelReceives {
			return fmt.Sprintf("dead letter %s, the model has %+v", d.Body, x)
		}
		delete(m.all, string(d.Body))
		m.dead++
	}
	if len(ds) < atMost {
		for body, x := range m.all {
			if !x.due.After(m.now) {
				return fmt.Sprintf("received %d of at most %d although %s is visible", len(ds), atMost, body)
			}
		}
	}
	return ""
}

func (m *model) delete(t *testing.T) string {
	receipt := m.anyReceipt()
	if err := m.queue.Delete(t.Context(), receipt); err != nil {
		return err.Error()
	}
	if body, _ := m.of(receipt); body != "" {
		delete(m.all, body)
	}
	return m.depth(t)
}

func (m *model) release(t *testing.T) string {
	receipt, after := m.anyReceipt(), time.Duration(m.rng.IntN(15))*time.Second
	if err := m.queue.Release(t.Context(), receipt, after); err != nil {
		return err.Error()
	}
	// What is visible again is not hidden by a release.
	if _, x := m.of(receipt); x != nil && x.due.After(m.now) {
		x.due = m.now.Add(after)
	}
	return m.depth(t)
}

func (m *model) anyReceipt() string {
	if len(m.used) == 0 {
		return "none yet"
	}
	latest := m.used[max(0, len(m.used)-12):]
	return latest[m.rng.IntN(len(latest))]
}

// of finds the message whose latest delivery the receipt names.
func (m *model) of(receipt string) (string, *modelled) {
	for body, x := range m.all {
		if x.receipt == receipt {
			return body, x
		}
	}
	return "", nil
}

func (m *model) depth(t *testing.T) string {
	var want queue.Depth
	for _, x := range m.all {
		switch {
		case !x.due.After(m.now):
			want.Visible++
		case x.receives == 0:
			want.Delayed++
		default:
			want.InFlight++
		}
	}
	if got := depth(t, m.queue); got != want {
		return fmt.Sprintf("depth is %+v, the model has %+v", got, want)
	}
	return ""
}
