package standin

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Front is AWS at one address, for a test: it hands calls on to DynamoDB Local
// and ElasticMQ, takes what is published to topics, and describes the stacks that
// it was told of. It remembers who called what. All methods are safe for
// concurrent use.
type Front struct {
	// URL is where it listens, http://127.0.0.1:PORT. Any credentials do.
	URL string

	tables, queues http.Handler

	mu        sync.Mutex
	published []string
	calls     []Call
	stacks    map[string]map[string]string
	faults    map[string]Fault
}

// Call is a call that a Front got.
type Call struct {
	// By is who called: NAME of the app/NAME in the User-Agent.
	By string
	// Action is as in policies, but for dynamodb:Transact...Items and
	// dynamodb:Batch..., and sqs:...Batch, which are as the call was made.
	Action string
	// On is the table, the queue or the topic, without what is before its name;
	// empty for a transaction. Index is the index of the table, if any.
	On, Index string
}

// Fault is an answer of AWS that is an error.
type Fault struct {
	Status        int
	Code, Message string
}

// NewFront starts one, for as long as the test runs. Where the stand-ins are not
// installed, tb is skipped, or fails with CI=true.
func NewFront(tb testing.TB) *Front {
	tb.Helper()
	f := NewEmptyFront(tb)
	f.tables, f.queues = proxy(tb, DynamoDB(tb)), proxy(tb, ElasticMQ(tb))
	return f
}

// NewEmptyFront starts one without tables and queues: a call to either is an
// internal error, unless Fail says otherwise. It needs nothing installed.
func NewEmptyFront(tb testing.TB) *Front {
	tb.Helper()
	none := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		Fault{http.StatusInternalServerError, "InternalServerError", "there is nothing behind"}.json(w)
	})
	f := &Front{tables: none, queues: none, stacks: map[string]map[string]string{}, faults: map[string]Fault{}}
	server := httptest.NewServer(f)
	tb.Cleanup(server.Close)
	f.URL = server.URL
	return f
}

func proxy(tb testing.TB, endpoint string) http.Handler {
	tb.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		tb.Fatal(err)
	}
	return httputil.NewSingleHostReverseProxy(to)
}

// Deploy has a stack described, with these outputs.
func (f *Front) Deploy(stack string, outputs map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stacks[stack] = maps.Clone(outputs)
}

// Fail has calls of an action, such as dynamodb:Query, answered with an error
// from now on. Calls of "*" are those of every action.
func (f *Front) Fail(action string, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[action] = fault
}

// Mend has calls of an action answered again.
func (f *Front) Mend(action string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.faults, action)
}

// Published returns what was published to topics so far.
func (f *Front) Published() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.published)
}

// Calls returns the calls so far.
func (f *Front) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// ServeHTTP answers as AWS.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	c, form := callOf(r, body)
	fault, failing := f.note(c)
	switch service, _, _ := strings.Cut(c.Action, ":"); {
	case failing && form != nil:
		fault.xml(w)
	case failing:
		fault.json(w)
	case service == "dynamodb":
		f.tables.ServeHTTP(w, r)
	case service == "sqs":
		f.queues.ServeHTTP(w, r)
	case c.Action == "sns:PublishBatch":
		f.publish(w, form)
	case c.Action == "cloudformation:DescribeStacks":
		f.describe(w, form.Get("StackName"))
	default:
		Fault{http.StatusBadRequest, "InvalidAction", "this stand-in knows no " + c.Action}.xml(w)
	}
}

// callOf reads which call a request is. form is nil where the request is JSON.
func callOf(r *http.Request, body []byte) (c Call, form url.Values) {
	for word := range strings.FieldsSeq(r.UserAgent()) {
		if name, found := strings.CutPrefix(word, "app/"); found {
			c.By = name
		}
	}
	target, action, isJSON := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !isJSON {
		form, _ = url.ParseQuery(string(body)) // what can't be read has no action
		c.Action, c.On = "cloudformation:"+form.Get("Action"), form.Get("StackName")
		if topic := form.Get("TopicArn"); topic != "" {
			c.Action, c.On = "sns:"+form.Get("Action"), topic[strings.LastIndexByte(topic, ':')+1:]
		}
		return c, form
	}
	var in struct {
		TableName, IndexName, QueueUrl string
		RequestItems                   map[string]json.RawMessage
	}
	_ = json.Unmarshal(body, &in) // who is behind will tell
	if c.Action = "sqs:" + action; strings.HasPrefix(target, "DynamoDB_") {
		c.Action = "dynamodb:" + action
	}
	c.On, c.Index = in.TableName+in.QueueUrl[strings.LastIndexByte(in.QueueUrl, '/')+1:], in.IndexName
	for table := range in.RequestItems {
		c.On = table
	}
	return c, nil
}

// note remembers a call, and says whether it fails.
func (f *Front) note(c Call) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	for _, action := range []string{c.Action, "*"} {
		if fault, found := f.faults[action]; found {
			return fault, true
		}
	}
	return Fault{}, false
}

// publish takes the messages of a PublishBatch.
func (f *Front) publish(w http.ResponseWriter, form url.Values) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprint(w, `<PublishBatchResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishBatchResult><Successful>`)
	for i := 1; ; i++ {
		entry := fmt.Sprintf("PublishBatchRequestEntries.member.%d.", i)
		if !form.Has(entry + "Message") {
			break
		}
		f.published = append(f.published, form.Get(entry+"Message"))
		fmt.Fprintf(w, "<member><Id>%s</Id><MessageId>m</MessageId></member>", form.Get(entry+"Id"))
	}
	fmt.Fprint(w, `</Successful><Failed></Failed></PublishBatchResult></PublishBatchResponse>`)
}

// describe answers a DescribeStacks of one.
func (f *Front) describe(w http.ResponseWriter, stack string) {
	f.mu.Lock()
	outputs, found := f.stacks[stack]
	f.mu.Unlock()
	if !found {
		Fault{http.StatusBadRequest, "ValidationError", "Stack with id " + stack + " does not exist"}.xml(w)
		return
	}
	fmt.Fprintf(w, `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member>`+
		`<StackName>%s</StackName><StackStatus>CREATE_COMPLETE</StackStatus><CreationTime>2026-01-01T00:00:00Z</CreationTime><Outputs>`, plain(stack))
	for name, value := range outputs {
		fmt.Fprintf(w, `<member><OutputKey>%s</OutputKey><OutputValue>%s</OutputValue></member>`, plain(name), plain(value))
	}
	fmt.Fprint(w, `</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`)
}

// xml answers as the services that speak XML do.
func (f Fault) xml(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(f.Status)
	fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>r</RequestId></ErrorResponse>`, plain(f.Code), plain(f.Message))
}

// json answers as the services that speak JSON do.
func (f Fault) json(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(f.Status)
	body, _ := json.Marshal(map[string]string{"__type": "com.amazonaws#" + f.Code, "message": f.Message}) // texts always encode
	_, _ = w.Write(body)                                                                                  // who called sees what is missing
}

// plain is a text as XML has it.
func plain(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a Builder takes everything
	return out.String()
}
