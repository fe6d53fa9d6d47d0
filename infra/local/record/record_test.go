package record_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/infra/local/record"
)

const (
	agent  = "aws-sdk-go-v2/1.47.6 ua/2.1 os/linux lang/go#1.26.8 app/scheduler m/E api/sqs#1.52.9"
	tables = "arn:aws:dynamodb:us-east-1:000000000000:table/"
	queues = "arn:aws:sqs:us-east-1:000000000000:"
)

// call is a request as the SDK makes it.
type call struct{ service, target, body, agent string }

func (c call) request(t *testing.T, to string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20261121/us-east-1/"+c.service+"/aws4_request, SignedHeaders=host, Signature=0")
	r.Header.Set("User-Agent", c.agent)
	if c.target != "" {
		r.Header.Set("X-Amz-Target", c.target)
	}
	return r
}

// pass sends calls through a Recorder to an emulator that says what it got.
func pass(t *testing.T, calls ...call) (*record.Recorder, []string) {
	t.Helper()
	emulator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(emulator.Close)
	target, err := url.Parse(emulator.URL)
	if err != nil {
		t.Fatal(err)
	}
	recorder := record.New(target)
	proxy := httptest.NewServer(recorder)
	t.Cleanup(proxy.Close)
	var answers []string
	for _, c := range calls {
		answer, err := http.DefaultClient.Do(c.request(t, proxy.URL))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusTeapot {
			t.Errorf("got status %d, %v, want the emulator's", answer.StatusCode, err)
		}
		answer.Body.Close()
		answers = append(answers, string(body))
	}
	return recorder, answers
}

func TestACallIsThePermissionsThatAWSAsksFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call
		want []string
	}{
		"item":  {call{"dynamodb", "DynamoDB_20120810.PutItem", `{"TableName":"T"}`, agent}, []string{"dynamodb:PutItem " + tables + "T"}},
		"index": {call{"dynamodb", "DynamoDB_20120810.Query", `{"TableName":"T","IndexName":"I"}`, agent}, []string{"dynamodb:Query " + tables + "T/index/I"}},
		"write transaction": {call{"dynamodb", "DynamoDB_20120810.TransactWriteItems",
			`{"TransactItems":[{"Put":{"TableName":"T"}},{"Put":{"TableName":"O"}},{"Update":{"TableName":"T"}},{"ConditionCheck":{"TableName":"O"}}]}`, agent},
			[]string{"dynamodb:ConditionCheckItem " + tables + "O", "dynamodb:PutItem " + tables + "O", "dynamodb:PutItem " + tables + "T", "dynamodb:UpdateItem " + tables + "T"}},
		"read transaction": {call{"dynamodb", "DynamoDB_20120810.TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"T"}}]}`, agent},
			[]string{"dynamodb:GetItem " + tables + "T"}},
		"batch of items": {call{"dynamodb", "DynamoDB_20120810.BatchGetItem", `{"RequestItems":{"T":{},"O":{}}}`, agent},
			[]string{"dynamodb:BatchGetItem " + tables + "O", "dynamodb:BatchGetItem " + tables + "T"}},
		"message": {call{"sqs", "AmazonSQS.SendMessage", `{"QueueUrl":"http://localhost:1/000000000000/q"}`, agent}, []string{"sqs:SendMessage " + queues + "q"}},
		"batch of messages": {call{"sqs", "AmazonSQS.SendMessageBatch", `{"QueueUrl":"http://localhost:1/000000000000/q"}`, agent},
			[]string{"sqs:SendMessage " + queues + "q"}},
		"visibility": {call{"sqs", "AmazonSQS.ChangeMessageVisibilityBatch", `{"QueueUrl":"http://localhost:1/000000000000/q"}`, agent},
			[]string{"sqs:ChangeMessageVisibility " + queues + "q"}},
		"topic": {call{"sns", "", "Action=PublishBatch&TopicArn=arn%3Aaws%3Asns%3Aus-east-1%3A000000000000%3Aalerts&Version=2010-03-31", agent},
			[]string{"sns:Publish arn:aws:sns:us-east-1:000000000000:alerts"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, answers := pass(t, c.call)
			var got []string
			for _, c := range r.Calls() {
				if c.Caller != "scheduler" {
					t.Errorf("the caller is %q, want scheduler", c.Caller)
				}
				got = append(got, c.Action+" "+c.Resource)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || len(r.Faults()) > 0 {
				t.Errorf("permissions (-want +got):\n%s\nfaults %v", diff, r.Faults())
			}
			if answers[0] != c.body {
				t.Errorf("the emulator got %q, want what was sent", answers[0])
			}
		})
	}
}

func TestWhatIsNotKnownIsAFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call
		want string
	}{
		"operation of a table":     {call{"dynamodb", "DynamoDB_20120810.ExecuteStatement", `{}`, agent}, "dynamodb ExecuteStatement"},
		"part of a transaction":    {call{"dynamodb", "DynamoDB_20120810.TransactWriteItems", `{"TransactItems":[{"Upsert":{"TableName":"T"}}]}`, agent}, "the part Upsert"},
		"table without a name":     {call{"dynamodb", "DynamoDB_20120810.PutItem", `{}`, agent}, "names no table"},
		"operation of a queue":     {call{"sqs", "AmazonSQS.PurgeQueue", `{"QueueUrl":"http://x/0/q"}`, agent}, "sqs PurgeQueue"},
		"queue without a name":     {call{"sqs", "AmazonSQS.SendMessage", `{}`, agent}, "names no queue"},
		"operation of a topic":     {call{"sns", "", "Action=Subscribe&TopicArn=x", agent}, "sns Subscribe"},
		"service":                  {call{"s3", "", "", agent}, "the service s3"},
		"body that is no JSON":     {call{"sqs", "AmazonSQS.SendMessage", `{`, agent}, "reading sqs SendMessage"},
		"caller who gives no name": {call{"sqs", "AmazonSQS.SendMessage", `{"QueueUrl":"http://x/0/q"}`, "curl/8"}, "comes from nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := pass(t, c.call, c.call)
			if got := r.Faults(); len(got) != 1 || !strings.Contains(got[0], c.want) || !strings.Contains(got[0], "(2 times)") || len(r.Calls()) != 0 {
				t.Errorf("got faults %v and calls %v, want one that says %q", got, r.Calls(), c.want)
			}
		})
	}
}

func TestEachCallIsListedOnce(t *testing.T) {
	t.Parallel()
	put := call{"dynamodb", "DynamoDB_20120810.PutItem", `{"TableName":"T"}`, agent}
	r, _ := pass(t, put, put)
	want := record.Call{Caller: "scheduler", Action: "dynamodb:PutItem", Resource: tables + "T"}
	if got := r.Calls(); len(got) != 1 || got[0] != want || r.Count(want) != 2 {
		t.Errorf("got %v, counted %d, want %v, made twice", got, r.Count(want), want)
	}
}
