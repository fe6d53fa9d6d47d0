package carrier_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/shared/cloud/carrier"
)

// sender keeps the body that it was given to send, as net/http's writer does, which
// may look for its end after the call is over.
type sender struct{ body io.ReadCloser }

func (s *sender) Do(r *http.Request) (*http.Response, error) {
	s.body = r.Body
	if _, err := io.Copy(io.Discard, io.LimitReader(s.body, r.ContentLength)); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{}`))}, nil
}

// call makes a call by the SDK.
func call(t *testing.T, endpoint string, by aws.HTTPClient) []string {
	t.Helper()
	queues := sqs.New(sqs.Options{
		Region: "eu-north-1", BaseEndpoint: &endpoint, HTTPClient: by, Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	})
	found, err := queues.ListQueues(t.Context(), &sqs.ListQueuesInput{QueueNamePrefix: aws.String("a")})
	if err != nil {
		t.Fatal(err)
	}
	return found.QueueUrls
}

func TestTheBodyOfACallThatIsOverJustEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by   func(aws.HTTPClient) aws.HTTPClient
		want error
	}{
		"carried": {carrier.Whole, nil},
		// When this one fails, the SDK is mended, and this package not needed.
		"by the SDK alone": {func(c aws.HTTPClient) aws.HTTPClient { return c }, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sender{}
			call(t, "https://sqs.example", c.by(s))
			if n, err := io.Copy(io.Discard, s.body); n != 0 || err != c.want {
				t.Errorf("a look for the end found %d bytes and error %v, want none and %v", n, err, c.want)
			}
		})
	}
}

func TestCallsAreCarried(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || int64(len(body)) != r.ContentLength || string(body) != `{"QueueNamePrefix":"a"}` {
			t.Errorf("the body is %q of %d bytes, error %v", body, r.ContentLength, err)
		}
		_, _ = io.WriteString(w, `{"QueueUrls": ["one"]}`)
	}))
	defer server.Close()
	for name, by := range map[string]aws.HTTPClient{"by the SDK's client": nil, "by one that is given": server.Client()} {
		if got := call(t, server.URL, carrier.Whole(by)); len(got) != 1 || got[0] != "one" {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestARequestWithoutABodyHasNone(t *testing.T) {
	t.Parallel()
	for _, body := range []io.ReadCloser{nil, http.NoBody} {
		r := httptest.NewRequest(http.MethodGet, "https://sqs.example", nil)
		r.Body = body
		s := seen{}
		if _, err := carrier.Whole(&s).Do(r); err != nil || s.body != body {
			t.Errorf("body %v became %v, error %v", body, s.body, err)
		}
	}
}

// seen keeps the body of a request.
type seen struct{ body io.ReadCloser }

func (s *seen) Do(r *http.Request) (*http.Response, error) {
	s.body = r.Body
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}
