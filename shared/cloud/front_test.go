package cloud_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"triad/infra/standin"
)

// front is AWS at one address: it hands calls on to DynamoDB Local and ElasticMQ,
// and takes what is published to a topic.
type front struct {
	url string

	mu        sync.Mutex
	published []string // messages
	callers   map[string]bool
}

func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{callers: map[string]bool{}}
	tables, queues := proxy(t, standin.DynamoDB(t)), proxy(t, standin.ElasticMQ(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.note(r)
		switch target := r.Header.Get("X-Amz-Target"); {
		case strings.HasPrefix(target, "DynamoDB_"):
			tables.ServeHTTP(w, r)
		case strings.HasPrefix(target, "AmazonSQS."):
			queues.ServeHTTP(w, r)
		default:
			f.publish(w, r)
		}
	}))
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func proxy(t *testing.T, endpoint string) http.Handler {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return httputil.NewSingleHostReverseProxy(to)
}

// note notes who calls, by the app/NAME of the User-Agent.
func (f *front) note(r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for word := range strings.FieldsSeq(r.UserAgent()) {
		if name, found := strings.CutPrefix(word, "app/"); found {
			f.callers[name] = true
		}
	}
}

// publish answers a PublishBatch of one.
func (f *front) publish(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || r.Form.Get("Action") != "PublishBatch" {
		http.Error(w, "this is no PublishBatch", http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprint(w, `<PublishBatchResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishBatchResult><Successful>`)
	for i := 1; ; i++ {
		entry := fmt.Sprintf("PublishBatchRequestEntries.member.%d.", i)
		if !r.Form.Has(entry + "Message") {
			break
		}
		f.published = append(f.published, r.Form.Get(entry+"Message"))
		fmt.Fprintf(w, "<member><Id>%s</Id><MessageId>m</MessageId></member>", r.Form.Get(entry+"Id"))
	}
	fmt.Fprint(w, `</Successful><Failed></Failed></PublishBatchResult></PublishBatchResponse>`)
}
