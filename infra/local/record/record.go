// Package record notes which calls of AWS each function makes, so that its role
// can be held against them.
//
// Recorder is an HTTP proxy between the functions and an emulator of AWS. A call
// becomes the permissions that AWS asks for it: TransactWriteItems those of its
// parts, SendMessageBatch sqs:SendMessage. Who called is the function's role, the
// app/NAME that its SDK puts into the User-Agent.
//
// Nothing goes by unnoticed: an operation that the package does not know, or a
// caller that gives no name, is noted as an error. It knows what functions of
// Triad have a use for: DynamoDB, SQS and SNS.
package record

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Call is one permission that a function needed.
type Call struct {
	// Caller is the function's role: the AppID of its SDK.
	Caller string
	// Action is the permission: dynamodb:PutItem.
	Action string
	// Resource is the ARN that it was needed for.
	Resource string
}

// String is the call as a sentence without a verb.
func (c Call) String() string { return c.Caller + " " + c.Action + " " + c.Resource }

// maxBody bounds what a function may send at once: a little more than AWS takes.
const maxBody = 20 << 20

// Recorder passes calls on to an emulator and notes them. It is an http.Handler,
// safe for concurrent use.
type Recorder struct {
	proxy *httputil.ReverseProxy

	mu     sync.Mutex
	calls  map[Call]int
	faults map[string]int
}

// New returns a Recorder in front of the emulator at target.
func New(target *url.URL) *Recorder {
	r := &Recorder{calls: map[Call]int{}, faults: map[string]int{}}
	r.proxy = &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Host = p.In.Host // it is part of what was signed
		},
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
		ErrorHandler: func(w http.ResponseWriter, in *http.Request, err error) {
			if in.Context().Err() == nil { // else the function has gone, and that is its right
				r.fault(fmt.Errorf("passing a call on: %w", err))
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	return r
}

// ServeHTTP notes one call and passes it on, whatever it is: that it could not be
// understood is told by Faults, not to the function.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, in.Body, maxBody))
	if err != nil {
		r.fault(fmt.Errorf("reading a call: %w", err))
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.note(in, body)
	in.Body, in.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.proxy.ServeHTTP(w, in)
}

func (r *Recorder) note(in *http.Request, body []byte) {
	caller, err := callerOf(in)
	if err != nil {
		r.fault(err)
		return
	}
	needs, err := permissions(in, body)
	if err != nil {
		r.fault(fmt.Errorf("%s: %w", caller, err))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range needs {
		r.calls[Call{Caller: caller, Action: n.action, Resource: n.resource}]++
	}
}

func (r *Recorder) fault(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[err.Error()]++
}

// Calls returns each distinct call, sorted.
func (r *Recorder) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Call, 0, len(r.calls))
	for c := range r.calls {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Call) int { return cmp.Compare(a.String(), b.String()) })
	return all
}

// Count is how often a call was made.
func (r *Recorder) Count(c Call) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[c]
}

// Faults returns what could not be understood, each sentence once, sorted. There
// must be none: an unknown call is one that no policy was checked for.
func (r *Recorder) Faults() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]string, 0, len(r.faults))
	for f, n := range r.faults {
		all = append(all, fmt.Sprintf("%s (%d times)", f, n))
	}
	slices.Sort(all)
	return all
}

var (
	appID = regexp.MustCompile(`(?:^| )app/([^ ]+)`)
	scope = regexp.MustCompile(`Credential=[^/]+/\d{8}/([^/]+)/([^/]+)/aws4_request`)
)

// callerOf is the name that the caller gives itself.
func callerOf(in *http.Request) (string, error) {
	for _, header := range []string{"User-Agent", "X-Amz-User-Agent"} {
		if m := appID.FindStringSubmatch(in.Header.Get(header)); m != nil {
			return m[1], nil
		}
	}
	return "", fmt.Errorf("a call of %s comes from nobody: its User-Agent %q has no app/NAME",
		strings.TrimSpace(in.URL.Path+" "+in.Header.Get("X-Amz-Target")), in.Header.Get("User-Agent"))
}
