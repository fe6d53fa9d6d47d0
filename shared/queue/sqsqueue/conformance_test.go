package sqsqueue_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"triad/infra/standin"
	"triad/shared/queue"
	"triad/shared/queue/queuetest"
	"triad/shared/queue/sqsqueue"
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

// TestConformanceBehindTheWire runs the suite through the SDK's client and the
// wire format, without a server and without waiting.
func TestConformanceBehindTheWire(t *testing.T) {
	t.Parallel()
	queuetest.RunVirtual(t, func(t *testing.T) queuetest.Harness {
		c, q := newCloud(nil, sqsqueue.Config{})
		return queuetest.Harness{
			Queue:       q,
			Visibility:  3 * time.Second,
			MaxReceives: 3,
			DeadLetters: func(*testing.T) [][]byte {
				var bodies [][]byte
				for _, d := range c.queue.DeadLetters() {
					bodies = append(bodies, d.Body)
				}
				return bodies
			},
			Redrive: func(t *testing.T) {
				if _, err := c.queue.Redrive(t.Context()); err != nil {
					t.Errorf("redriving: %v", err)
				}
			},
		}
	})
}

func TestConformanceOnElasticMQ(t *testing.T) {
	t.Parallel()
	server := &server{Client: sqs.NewFromConfig(standin.Caller(standin.ElasticMQ(t)))}
	server.redrive = server.moveTask
	queuetest.Run(t, server.open)
}

// TestConformanceOnMiniStack: it has no StartMessageMoveTask, so its dead letters
// go back one by one.
func TestConformanceOnMiniStack(t *testing.T) {
	t.Parallel()
	server := &server{Client: sqs.NewFromConfig(standin.Caller(standin.MiniStack(t)))}
	server.redrive = server.moveOneByOne
	queuetest.Run(t, server.open)
}

// TestAnAbandonedPollOnElasticMQ: the server hands the next message to the poll
// that nobody waits for, yet it comes long before its visibility timeout.
func TestAnAbandonedPollOnElasticMQ(t *testing.T) {
	t.Parallel()
	server := &server{Client: sqs.NewFromConfig(standin.Caller(standin.ElasticMQ(t)))}
	url := server.create(t, "abandoned", map[string]string{"VisibilityTimeout": "600"})
	q := sqsqueue.New(server, url, sqsqueue.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := q.Receive(ctx, 10, 20*time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("receiving: %v, want %v", err, context.DeadlineExceeded)
	}
	if err := q.Send(t.Context(), texts("next")...); err != nil {
		t.Fatal(err)
	}
	ds, err := q.Receive(t.Context(), 10, 20*time.Second)
	if err != nil || len(ds) != 1 {
		t.Fatalf("received %d messages, %v, want the one that was sent", len(ds), err)
	}
	if err := q.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "receives", ds[0].Receives, 2)
}

// server makes queues with dead-letter queues, as the template does on AWS.
type server struct {
	*sqs.Client
	// redrive moves what is in the queue dead back to the queue url.
	redrive func(t *testing.T, dead, url string)
}

func (s *server) open(t *testing.T) queuetest.Harness {
	// Long enough for the calls between a receive and its delete, also on a server
	// that all cases share and a machine that is busy.
	const visibility, maxReceives = 5 * time.Second, 3
	name := "case-" + rand.Text()
	dead := s.create(t, name+"-dead", nil)
	url := s.create(t, name, map[string]string{
		"VisibilityTimeout": strconv.Itoa(int(visibility.Seconds())),
		"RedrivePolicy":     fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, s.arn(t, dead), maxReceives),
	})
	q := sqsqueue.New(s, url, sqsqueue.Config{})
	t.Cleanup(func() {
		if err := q.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return queuetest.Harness{
		Queue:       q,
		Visibility:  visibility,
		MaxReceives: maxReceives,
		DeadLetters: func(t *testing.T) [][]byte { return s.list(t, dead) },
		Redrive:     func(t *testing.T) { s.redrive(t, dead, url) },
	}
}

// moveTask asks SQS to move them; it knows where they came from.
func (s *server) moveTask(t *testing.T, dead, _ string) {
	arn := s.arn(t, dead)
	if _, err := s.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{SourceArn: &arn}); err != nil {
		t.Errorf("redriving: %v", err)
	}
}

// moveOneByOne receives them and sends them anew.
func (s *server) moveOneByOne(t *testing.T, dead, url string) {
	from, to := sqsqueue.New(s, dead, sqsqueue.Config{}), sqsqueue.New(s, url, sqsqueue.Config{})
	for {
		ds, err := from.Receive(t.Context(), 10, 0)
		if err != nil {
			t.Fatalf("receiving dead letters: %v", err)
		}
		if len(ds) == 0 {
			return
		}
		for _, d := range ds {
			if err := to.Send(t.Context(), queue.Message{Body: d.Body}); err != nil {
				t.Fatalf("sending a dead letter back: %v", err)
			}
			if err := from.Delete(t.Context(), d.Receipt); err != nil {
				t.Fatalf("deleting a dead letter: %v", err)
			}
		}
	}
}

func (s *server) create(t *testing.T, name string, attributes map[string]string) (url string) {
	t.Helper()
	out, err := s.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatalf("making queue %s: %v", name, err)
	}
	return *out.QueueUrl
}

func (s *server) arn(t *testing.T, url string) string {
	t.Helper()
	out, err := s.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	if err != nil {
		t.Fatalf("asking for the ARN of %s: %v", url, err)
	}
	return out.Attributes[string(types.QueueAttributeNameQueueArn)]
}

// list receives what a queue has and gives it back.
func (s *server) list(t *testing.T, url string) (bodies [][]byte) {
	t.Helper()
	out, err := s.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10})
	if err != nil {
		t.Fatalf("listing the messages of %s: %v", url, err)
	}
	for _, m := range out.Messages {
		bodies = append(bodies, []byte(aws.ToString(m.Body)))
		_, err := s.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{
			QueueUrl: &url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 0,
		})
		if err != nil {
			t.Fatalf("giving back a message of %s: %v", url, err)
		}
	}
	return bodies
}
