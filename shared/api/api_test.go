package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/api"
	"triad/shared/api/apitest"
)

// request is a request of this machine.
func request(method, target, body string, headers ...string) *http.Request {
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, in)
	r.Host = "localhost:7070"
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// do serves a request and wants this status.
func do(t *testing.T, h http.Handler, want int, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	w := serve(h, request(method, target, body, headers...))
	if w.Code != want {
		t.Fatalf("%s %s %.80s: got %d %s, want %d", method, target, body, w.Code, w.Body, want)
	}
	return w
}

func decode[T any](t *testing.T, w *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("decoding %s: %v", w.Body, err)
	}
	return v
}

const order1 = `{"id":"order-1","workflow":"order","order":{"total":10},"responseQueue":"shop","tenant":"acme"}`

func TestSubmissionIsAcceptedOnceAndAgain(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, nil)
	w := do(t, d, 202, "POST", "/v1/tasks", order1, "Content-Type", "application/json; charset=UTF-8")
	want := api.Accepted{ID: "order-1", Workflow: "order@1", State: "Processing", Location: "/v1/tasks/order-1"}
	if diff := cmp.Diff(want, decode[api.Accepted](t, w)); diff != "" {
		t.Error(diff)
	}
	if got := w.Header().Get("Location"); got != want.Location {
		t.Errorf("Location is %q, want %q", got, want.Location)
	}
	d.Settle(t)
	w = do(t, d, 200, "POST", "/v1/tasks", order1)
	want.State = "Processed"
	if diff := cmp.Diff(want, decode[api.Accepted](t, w)); diff != "" {
		t.Error(diff)
	}
	do(t, d, 409, "POST", "/v1/tasks", strings.Replace(order1, "10", "11", 1))
}

func TestBadInputIsRefusedWithStatusCodeAndField(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, nil)
	do(t, d, 202, "POST", "/v1/tasks", order1)
	submissionWith := func(old, new string) string { return strings.Replace(order1, old, new, 1) }
	other := strings.Replace(order1, "order-1", "order-2", 1)
	nested := `{"id":"deep","workflow":"order","order":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`
	for _, c := range []struct {
		name, method, target, body string
		headers                    []string
		status                     int
		code                       api.Code
		field                      string
	}{
		{"empty body", "POST", "/v1/tasks", "", nil, 400, api.CodeInvalid, ""},
		{"half a value", "POST", "/v1/tasks", `{"id":`, nil, 400, api.CodeInvalid, ""},
		{"no JSON", "POST", "/v1/tasks", `hello`, nil, 400, api.CodeInvalid, ""},
		{"two values", "POST", "/v1/tasks", order1 + order1, nil, 400, api.CodeInvalid, ""},
		{"an array", "POST", "/v1/tasks", `[` + order1 + `]`, nil, 400, api.CodeInvalid, ""},
		{"no UTF-8", "POST", "/v1/tasks", submissionWith("acme", "\xff"), nil, 400, api.CodeInvalid, ""},
		{"id of a wrong type", "POST", "/v1/tasks", submissionWith(`"order-1"`, "7"), nil, 400, api.CodeInvalid, "id"},
		{"unknown field", "POST", "/v1/tasks", submissionWith("tenant", "tenent"), nil, 400, api.CodeInvalid, "tenent"},
		{"no id", "POST", "/v1/tasks", submissionWith("order-1", ""), nil, 400, api.CodeInvalid, "id"},
		{"long id", "POST", "/v1/tasks", submissionWith("order-1", strings.Repeat("x", 129)), nil, 400, api.CodeInvalid, "id"},
		{"id that is a path", "POST", "/v1/tasks", submissionWith("order-1", "../etc/passwd"), nil, 400, api.CodeInvalid, "id"},
		{"id with a line end", "POST", "/v1/tasks", submissionWith("order-1", `a\nb`), nil, 400, api.CodeInvalid, "id"},
		{"no order", "POST", "/v1/tasks", `{"id":"o","workflow":"order"}`, nil, 400, api.CodeInvalid, "order"},
		{"order that does not fit", "POST", "/v1/tasks", submissionWith(`{"total":10}`, "7"), nil, 400, api.CodeInvalid, "order"},
		{"unknown workflow", "POST", "/v1/tasks", submissionWith(`"order"`, `"ordre"`), nil, 400, api.CodeInvalid, "workflow"},
		{"unknown version", "POST", "/v1/tasks", submissionWith(`"order"`, `"order@9"`), nil, 400, api.CodeInvalid, "workflow"},
		{"hostile response queue", "POST", "/v1/tasks", submissionWith("shop", "a b"), nil, 400, api.CodeInvalid, "responseQueue"},
		{"nesting of 10,000", "POST", "/v1/tasks", nested, nil, 400, api.CodeInvalid, ""},
		{"1 MB", "POST", "/v1/tasks", submissionWith("acme", strings.Repeat("x", 1<<20)), nil, 413, api.CodeTooLarge, ""},
		{"large order", "POST", "/v1/tasks", submissionWith("10", `"`+strings.Repeat("x", 200<<10)+`"`), nil, 413, api.CodeTooLarge, "order"},
		{"same id, other order", "POST", "/v1/tasks", submissionWith("10", "11"), nil, 409, api.CodeDifferent, "id"},
		{"a form", "POST", "/v1/tasks", other, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, api.CodeMediaType, "Content-Type"},
		{"another charset", "POST", "/v1/tasks", other, []string{"Content-Type", "application/json; charset=latin1"}, 415, api.CodeMediaType, "Content-Type"},
		{"a media type that is none", "POST", "/v1/tasks", other, []string{"Content-Type", ";;"}, 415, api.CodeMediaType, "Content-Type"},

		{"unknown task", "GET", "/v1/tasks/nobody", "", nil, 404, api.CodeNotFound, "id"},
		{"hostile id in the path", "GET", "/v1/tasks/a%20b", "", nil, 400, api.CodeInvalid, "id"},
		{"long id in the path", "GET", "/v1/tasks/" + strings.Repeat("x", 129), "", nil, 400, api.CodeInvalid, "id"},
		{"way out of the path", "GET", "/v1/tasks/..%2Fx", "", nil, 404, api.CodeNotFound, ""},
		{"unknown state", "GET", "/v1/tasks?state=Done", "", nil, 400, api.CodeInvalid, "state"},
		{"state of steps only", "GET", "/v1/tasks?state=Skipped", "", nil, 400, api.CodeInvalid, "state"},
		{"limit of 0", "GET", "/v1/tasks?limit=0", "", nil, 400, api.CodeInvalid, "limit"},
		{"unknown parameter", "GET", "/v1/tasks?sate=Error", "", nil, 400, api.CodeInvalid, "sate"},
		{"parameter given twice", "GET", "/v1/tasks?limit=1&limit=2", "", nil, 400, api.CodeInvalid, "limit"},
		{"no boolean", "GET", "/v1/tasks?unfinished=maybe", "", nil, 400, api.CodeInvalid, "unfinished"},
		{"broken query", "GET", "/v1/tasks?state=%zz", "", nil, 400, api.CodeInvalid, ""},
		{"long cursor", "GET", "/v1/tasks?cursor=" + strings.Repeat("x", 513), "", nil, 400, api.CodeInvalid, "cursor"},

		{"unknown verb", "POST", "/v1/tasks/order-1/explode", "", nil, 400, api.CodeInvalid, "verb"},
		{"verb on an unknown task", "POST", "/v1/tasks/nobody/cancel", "", nil, 404, api.CodeNotFound, "id"},
		{"verb that does not fit", "POST", "/v1/tasks/order-1/resubmit", "", nil, 409, api.CodeRefused, ""},
		{"verb with an unknown field", "POST", "/v1/tasks/order-1/cancel", `{"why":"x"}`, nil, 400, api.CodeInvalid, "why"},
		{"verb with a wrong type", "POST", "/v1/tasks/order-1/cancel", `{"reason":1}`, nil, 400, api.CodeInvalid, "reason"},
		{"verb with two values", "POST", "/v1/tasks/order-1/cancel", `{} {}`, nil, 400, api.CodeInvalid, ""},
		{"verb with a nesting of 10,001", "POST", "/v1/tasks/order-1/signal", strings.Repeat(`{"payload":`, 10_001), nil, 400, api.CodeInvalid, ""},
		{"verb with a long reason", "POST", "/v1/tasks/order-1/cancel", `{"reason":"` + strings.Repeat("x", 161) + `"}`, nil, 400, api.CodeInvalid, "reason"},
		{"signal without a name", "POST", "/v1/tasks/order-1/signal", "", nil, 400, api.CodeInvalid, "signal"},
		{"signal with a large payload", "POST", "/v1/tasks/order-1/signal", `{"signal":"s","payload":"` + strings.Repeat("x", 65<<10) + `"}`, nil, 413, api.CodeTooLarge, "payload"},
		{"signal that nothing waits for", "POST", "/v1/tasks/order-1/signal", `{"signal":"s"}`, nil, 409, api.CodeRefused, ""},
		{"payload for another verb", "POST", "/v1/tasks/order-1/pause", `{"payload":1}`, nil, 400, api.CodeInvalid, "payload"},

		{"resend of nothing", "POST", "/v1/rejected/7/resend", "", nil, 404, api.CodeNotFound, "seq"},
		{"resend of no number", "POST", "/v1/rejected/x/resend", "", nil, 400, api.CodeInvalid, "seq"},
		{"large page of rejected", "GET", "/v1/rejected?limit=101", "", nil, 400, api.CodeInvalid, "limit"},
		{"empty message", "POST", "/v1/queues/submissions", "", nil, 400, api.CodeInvalid, ""},
		{"large message", "POST", "/v1/queues/submissions", strings.Repeat("x", 257<<10), nil, 413, api.CodeTooLarge, ""},
		{"hostile queue", "GET", "/v1/queues/a%20b/notices", "", nil, 400, api.CodeInvalid, "queue"},
		{"long wait", "GET", "/v1/queues/shop/notices?wait=1h", "", nil, 400, api.CodeInvalid, "wait"},
		{"negative wait", "GET", "/v1/queues/shop/notices?wait=-1s", "", nil, 400, api.CodeInvalid, "wait"},
		{"unknown path", "GET", "/nowhere", "", nil, 404, api.CodeNotFound, ""},
		{"root", "GET", "/", "", nil, 404, api.CodeNotFound, ""},
		{"path with a slash at its end", "GET", "/v1/tasks/", "", nil, 404, api.CodeNotFound, ""},
		{"path with two slashes", "POST", "//v1/tasks", order1, nil, 404, api.CodeNotFound, ""},
		{"unknown method", "PUT", "/v1/tasks", "", nil, 405, api.CodeMethod, ""},
		{"no metrics", "GET", "/metrics", "", nil, 404, api.CodeNotFound, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := do(t, d, c.status, c.method, c.target, c.body, c.headers...)
			if got := w.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type is %q", got)
			}
			got := decode[api.ErrorBody](t, w).Error
			if got.Message == "" || len(got.Message) > 600 {
				t.Errorf("the message is %q", got.Message)
			}
			got.Message = ""
			if diff := cmp.Diff(api.Failure{Code: c.code, Field: c.field}, got); diff != "" {
				t.Errorf("%s\n%s", diff, w.Body)
			}
		})
	}
}

func TestLongBodyWithoutALengthIsRefused(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, nil)
	r := httptest.NewRequest("POST", "http://localhost/v1/tasks", io.LimitReader(zeroes{}, 1<<20))
	r.ContentLength = -1
	if w := serve(d, r); w.Code != 413 {
		t.Errorf("got %d %s, want 413", w.Code, w.Body)
	}
}

// zeroes never ends.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestOtherMethodsAreToldWhatIsPossible(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, nil)
	if got := do(t, d, 405, "DELETE", "/v1/tasks", "").Header().Get("Allow"); got != "GET, POST" {
		t.Errorf("Allow is %q", got)
	}
}
