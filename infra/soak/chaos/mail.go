package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/infra/local/cloud"
	"triad/infra/soak/audit"
	"triad/shared/task"
)

// mail receives what the application and the operators are told, as they do it
// themselves: all the time, and message by message. What comes twice under one id
// counts once. It is safe for concurrent use.
type mail struct {
	stop func()

	mu      sync.Mutex
	notices map[string]audit.Notice
	alerts  map[string]audit.Alert
	came    int // how many messages, the same ones included
	err     error
}

// fetch begins to receive, until stop.
func fetch(ctx context.Context, c *cloud.Cloud) (*mail, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m := &mail{notices: map[string]audit.Notice{}, alerts: map[string]audit.Alert{}}
	var all sync.WaitGroup
	m.stop = func() { cancel(); all.Wait() }
	for _, name := range append(cloud.ResponseQueues(), cloud.AlertsQueue) {
		at, err := c.QueueURL(ctx, name)
		if err != nil {
			m.stop()
			return nil, err
		}
		all.Go(func() {
			err := m.follow(ctx, c.SQS(), name, at)
			m.mu.Lock()
			defer m.mu.Unlock()
			if ctx.Err() == nil {
				m.err = errors.Join(m.err, err)
			}
		})
	}
	return m, nil
}

// follow receives from one queue.
func (m *mail) follow(ctx context.Context, client *sqs.Client, name, at string) error {
	for {
		got, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &at, MaxNumberOfMessages: 10, WaitTimeSeconds: 5})
		if err != nil {
			return fmt.Errorf("receiving from %s: %w", name, err)
		}
		for _, message := range got.Messages {
			if err := m.keep(name, []byte(*message.Body)); err != nil {
				return fmt.Errorf("reading a message of %s: %w", name, err)
			}
			if _, err := client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &at, ReceiptHandle: message.ReceiptHandle}); err != nil {
				return fmt.Errorf("deleting from %s: %w", name, err)
			}
		}
	}
}

// keep notes one message.
func (m *mail) keep(name string, body []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.came++
	if name != cloud.AlertsQueue {
		var n task.Notice
		if err := json.Unmarshal(body, &n); err != nil {
			return err
		}
		m.notices[n.ID] = audit.Notice{ID: n.ID, Queue: name, Status: n.Status, Task: n.Task}
		return nil
	}
	var envelope struct{ Message string }
	if err := json.Unmarshal(body, &envelope); err != nil {
		return err
	}
	var a task.Alert
	// An alarm comes the same way, and is no alert of an order.
	if json.Unmarshal([]byte(envelope.Message), &a) != nil || a.Task == "" {
		m.came--
		return nil
	}
	m.alerts[a.ID] = audit.Alert{ID: a.ID, Task: a.Task}
	return nil
}

// repeats is how many messages had come before.
func (m *mail) repeats() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.came - len(m.notices) - len(m.alerts)
}

// missing counts the orders that have not ended, or of which not all was told.
func (m *mail) missing(accepted []audit.Order, states map[task.ID]task.State) (n int, err error) {
	notices, alerts, err := m.all()
	told := map[task.ID]int{}
	for _, n := range notices {
		told[n.Task]++
	}
	alerted := map[task.ID]bool{}
	for _, a := range alerts {
		alerted[a.Task] = true
	}
	for _, o := range accepted {
		state := states[o.ID]
		if !state.Finished() || o.Queue != "" && told[o.ID] < 2 || state == task.Error && !alerted[o.ID] {
			n++
		}
	}
	return n, err
}

// all is what has come so far.
func (m *mail) all() (notices []audit.Notice, alerts []audit.Alert, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.notices {
		notices = append(notices, n)
	}
	for _, a := range m.alerts {
		alerts = append(alerts, a)
	}
	return notices, alerts, m.err
}
