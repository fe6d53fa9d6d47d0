package outlet_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"triad/infra/standin"
	"triad/shared/outlet"
	"triad/shared/task"
)

// published is an alert as a subscriber gets it.
type published struct {
	Alert          task.Alert
	Subject        string
	Task, Workflow string
}

// subscriber is a queue that is subscribed to a topic.
type subscriber struct {
	queues *sqs.Client
	url    string
	raw    bool
}

// subscribe makes a queue and subscribes it. A raw subscription delivers the
// message alone, with its attributes as those of the queue's message; another
// delivers it wrapped in what SNS knows of it.
func subscribe(t *testing.T, topics *sns.Client, queues *sqs.Client, topic *string, raw bool) subscriber {
	t.Helper()
	made, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("operators-" + rand.Text())})
	if err != nil {
		t.Fatal(err)
	}
	found, err := queues.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: made.QueueUrl, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	if err != nil {
		t.Fatal(err)
	}
	arn := found.Attributes[string(types.QueueAttributeNameQueueArn)]
	_, err = topics.Subscribe(t.Context(), &sns.SubscribeInput{
		TopicArn: topic, Protocol: aws.String("sqs"), Endpoint: &arn, Attributes: map[string]string{"RawMessageDelivery": fmt.Sprint(raw)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return subscriber{queues, *made.QueueUrl, raw}
}

// receive waits for n alerts, and returns them by their ids.
func (s subscriber) receive(t *testing.T, n int) []published {
	t.Helper()
	var all []published
	for end := time.Now().Add(30 * time.Second); len(all) < n && time.Now().Before(end); {
		got, err := s.queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &s.url, MaxNumberOfMessages: 10, WaitTimeSeconds: 5, MessageAttributeNames: []string{"All"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range got.Messages {
			all = append(all, s.open(t, m))
		}
	}
	slices.SortFunc(all, func(a, b published) int { return strings.Compare(a.Alert.ID, b.Alert.ID) })
	return all
}

// open reads one message.
func (s subscriber) open(t *testing.T, m types.Message) (p published) {
	t.Helper()
	envelope := struct {
		Type, Subject, Message string
		MessageAttributes      map[string]struct{ Type, Value string }
	}{Message: *m.Body}
	if s.raw {
		p.Task, p.Workflow = letterOf(m).Attributes["TaskID"], letterOf(m).Attributes["Workflow"]
	} else {
		if err := json.Unmarshal([]byte(*m.Body), &envelope); err != nil || envelope.Type != "Notification" {
			t.Fatalf("got %s, %v, want a notification of SNS", *m.Body, err)
		}
		p.Subject = envelope.Subject
		p.Task, p.Workflow = envelope.MessageAttributes["TaskID"].Value, envelope.MessageAttributes["Workflow"].Value
	}
	if err := json.Unmarshal([]byte(envelope.Message), &p.Alert); err != nil {
		t.Fatalf("got %s: %v", envelope.Message, err)
	}
	return p
}

// TestAlertsReachTheQueuesOfOperators by SNS, on the wire and through it: more
// than one call takes, with texts that neither SNS nor SQS carries as they are.
func TestAlertsReachTheQueuesOfOperators(t *testing.T) {
	t.Parallel()
	endpoint := standin.MiniStack(t)
	topics := sns.NewFromConfig(standin.Caller(endpoint))
	made, err := topics.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("alerts-" + rand.Text())})
	if err != nil {
		t.Fatal(err)
	}
	queues := sqs.NewFromConfig(standin.Caller(endpoint))
	wrapped, raw := subscribe(t, topics, queues, made.TopicArn, false), subscribe(t, topics, queues, made.TopicArn, true)

	var alerts []task.Alert
	var want []published
	for n := range 12 {
		a := task.Alert{ID: fmt.Sprintf("o-%02d/alert/0", n), Task: task.ID(fmt.Sprintf("o-%02d", n)), Workflow: "order@1", Step: "ship",
			Subject: "Task ended in Error: Ж\n", Action: "a < b & \"c\" é 🚚\u0000\uffff", At: 7}
		alerts = append(alerts, a)
		want = append(want, published{Alert: a, Subject: "Task ended in Error: ?", Task: string(a.Task), Workflow: "order@1"})
	}
	out := outlet.New(outlet.Config{Topics: topics, Topic: *made.TopicArn})
	if err := out.Alert(t.Context(), alerts); err != nil {
		t.Fatal(err)
	}
	equal(t, "alerts, wrapped", wrapped.receive(t, len(want)), want)
	for i := range want {
		want[i].Subject = "" // a raw message has none
	}
	equal(t, "alerts, raw", raw.receive(t, len(want)), want)
}

func TestAMissingTopicOnMiniStackIsTold(t *testing.T) {
	t.Parallel()
	endpoint := standin.MiniStack(t)
	topics := sns.NewFromConfig(standin.Caller(endpoint))
	const missing = "arn:aws:sns:eu-north-1:000000000000:missing"
	out := outlet.New(outlet.Config{Topics: topics, Topic: missing})
	equal(t, "error", text(out.Alert(t.Context(), []task.Alert{{ID: "a", Task: "o-1", Workflow: "order@1"}})),
		"telling alert a: publishing to topic "+missing+": there is no topic "+missing+": check the ARN and its region")
}
