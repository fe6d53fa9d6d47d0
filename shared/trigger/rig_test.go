package trigger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/trigger"
)

var errHandler = errors.New("service unavailable")

// rig is a function inside a synctest bubble. Its handler logs "begin BODY" and
// "end BODY", and does in between what acts says for that body. The key of a
// body is what stands before its dash.
type rig struct {
	t    *testing.T
	acts map[string]func(context.Context) error
	text bytes.Buffer // what was logged

	mu    sync.Mutex
	log   []string
	after int
}

func newRig(t *testing.T, acts map[string]func(context.Context) error) *rig {
	return &rig{t: t, acts: acts}
}

func (r *rig) config() trigger.Config {
	return trigger.Config{
		Handle: r.handle, Key: key, After: r.count, Margin: 2 * time.Second,
		Logger: slog.New(slog.NewTextHandler(&r.text, nil)),
	}
}

func key(body []byte) string {
	if bytes.HasPrefix(body, []byte("keyless!")) {
		panic("no key")
	}
	key, _, _ := strings.Cut(string(body), "-")
	return key
}

func (r *rig) count(context.Context) { r.after++ }

func (r *rig) handle(ctx context.Context, m trigger.Message) error {
	body := string(m.Body)
	r.note("begin " + body)
	if act := r.acts[body]; act != nil {
		if err := act(ctx); err != nil {
			return err
		}
	}
	r.note("end " + body)
	return nil
}

func (r *rig) note(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, line)
}

func (r *rig) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.log)
}

// invoke gives bodies to a function with ten seconds of time, each as a message
// whose id is its body, and returns the ids that failed.
func (r *rig) invoke(c trigger.Config, bodies ...string) []string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return failures(r.t, trigger.NewMessages(c), ctx, event(bodies...))
}

// event is the payload of an SQS event.
func event(bodies ...string) []byte {
	var records []string
	for _, b := range bodies {
		records = append(records, fmt.Sprintf(`{"messageId": %q, "body": %[1]q, "eventSource": "aws:sqs",
			"eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:shop-scheduler", "receiptHandle": "r-%[2]s",
			"attributes": {"ApproximateReceiveCount": "3"}}`, b, b))
	}
	return []byte(`{"Records": [` + strings.Join(records, ",") + `]}`)
}

// failures invokes a function and returns the ids of what it reports.
func failures(t *testing.T, f trigger.Function, ctx context.Context, payload []byte) []string {
	t.Helper()
	answer, err := f.Invoke(ctx, payload)
	if err != nil {
		t.Fatal(err)
	}
	return reported(t, answer)
}

// reported reads an answer as strictly as Lambda does.
func reported(t *testing.T, answer []byte) []string {
	t.Helper()
	var r struct {
		BatchItemFailures *[]struct{ ItemIdentifier string }
	}
	dec := json.NewDecoder(bytes.NewReader(answer))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil || r.BatchItemFailures == nil {
		t.Fatalf("answer %s: %v; want a list of failures that is not null", answer, err)
	}
	ids := []string{}
	for _, f := range *r.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return ids
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

// wait takes d, and ends early with its context.
func wait(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ignore takes d whatever its context says.
func ignore(d time.Duration) func(context.Context) error {
	return func(context.Context) error {
		<-time.After(d)
		return nil
	}
}

func fail(context.Context) error { return errHandler }
