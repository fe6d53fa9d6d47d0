package outlet_test

import (
	"cmp"
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	diff "github.com/google/go-cmp/cmp"

	"triad/infra/standin"
	"triad/shared/api"
	"triad/shared/engine"
	"triad/shared/outlet"
	"triad/shared/scheduler"
	"triad/shared/submission"
	"triad/shared/task"
)

var (
	_ engine.Outlet       = (*outlet.Outlet)(nil)
	_ submission.Rejecter = (*outlet.Outlet)(nil)
	_ scheduler.Rejecter  = (*outlet.Outlet)(nil)
	_ api.Kept            = (*outlet.Inbox)(nil)
	_ outlet.Sender       = (*sqs.Client)(nil)
	_ outlet.Reader       = (*sqs.Client)(nil)
	_ outlet.Publisher    = (*sns.Client)(nil)
)

// TestMain lets all cases wait for servers at the same time, however few
// processors there are: they wait, and do not compute.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "64"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}

const (
	shopURL     = "https://sqs.eu-north-1.amazonaws.com/123456789012/shop"
	depotURL    = "https://sqs.eu-north-1.amazonaws.com/123456789012/demo-depot"
	rejectedURL = "https://sqs.eu-north-1.amazonaws.com/123456789012/demo-rejected"
	topic       = "arn:aws:sns:eu-north-1:123456789012:demo-alerts"
)

// letter is a message that was sent.
type letter struct {
	Body       string
	Attributes map[string]string
}

func letterOf(m types.Message) letter {
	l := letter{Body: *m.Body, Attributes: map[string]string{}}
	for name, a := range m.MessageAttributes {
		l.Attributes[name] = *a.StringValue
	}
	return l
}

// rig is an Outlet and an Inbox over the same queues.
type rig struct {
	out   *outlet.Outlet
	in    *outlet.Inbox
	cloud *cloud // nil on a server
	// read is what is in a queue, by body.
	read func(t *testing.T, url string) []letter
}

// client is the SDK's client of SQS.
type client interface {
	outlet.Sender
	outlet.Reader
}

func newRig(c client, p outlet.Publisher, urls [3]string, clock func() time.Time) *rig {
	known := outlet.Responses{"shop": urls[0], "depot": urls[1]}
	return &rig{
		out: outlet.New(outlet.Config{Queues: c, Rejected: urls[2], Responses: known, Topics: p, Topic: topic, Clock: clock}),
		in:  outlet.NewInbox(outlet.InboxConfig{Queues: c, Rejected: urls[2], Responses: known, Topic: topic, Clock: clock}),
	}
}

// inMemory is a rig over a cloud in memory.
func inMemory() *rig {
	c := newCloud(shopURL, depotURL, rejectedURL)
	r := newRig(c, c, [3]string{shopURL, depotURL, rejectedURL}, func() time.Time {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.now
	})
	r.cloud, r.read = c, c.read
	return r
}

// on is a rig over queues of its own on a server.
func on(t *testing.T, endpoint string) *rig {
	t.Helper()
	c := sqs.NewFromConfig(standin.Caller(endpoint))
	var urls [3]string
	for n := range urls {
		made, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("outlet-" + rand.Text())})
		if err != nil {
			t.Fatal(err)
		}
		urls[n] = *made.QueueUrl
	}
	r := newRig(c, nil, urls, nil)
	r.read = func(t *testing.T, url string) (all []letter) {
		t.Helper()
		for {
			got, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"}})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Messages) == 0 {
				return all
			}
			for _, m := range got.Messages {
				all = append(all, letterOf(m))
			}
		}
	}
	return r
}

// everywhere runs a test over the cloud in memory and over both servers.
func everywhere(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		test(t, inMemory())
	})
	t.Run("on ElasticMQ", func(t *testing.T) {
		t.Parallel()
		test(t, on(t, standin.ElasticMQ(t)))
	})
	t.Run("on MiniStack", func(t *testing.T) {
		t.Parallel()
		test(t, on(t, standin.MiniStack(t)))
	})
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := diff.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// sorted are letters by their bodies: a queue has no order.
func sorted(all []letter) []letter {
	return slices.SortedFunc(slices.Values(all), func(a, b letter) int { return cmp.Compare(a.Body, b.Body) })
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// told is a notice for a response queue.
func told(queue, id string) task.Notice {
	return task.Notice{ID: id + "/Processed/0", Queue: queue, Task: task.ID(id), Workflow: "order@1", Status: "Processed", At: 7}
}
