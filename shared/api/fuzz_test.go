package api_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"triad/events"
	"triad/shared/api/apitest"
)

// FuzzRequests: no request makes the API panic or fail; each gets an answer of the
// documented kind, and a refusal says what is wrong.
func FuzzRequests(f *testing.F) {
	for _, file := range []string{"order.json", "drone-delivery.json", "lambda-sqs.json"} {
		body, err := events.FS.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add("POST", "/v1/tasks", body)
	}
	for _, r := range [][3]string{
		{"POST", "/v1/tasks", order1},
		{"POST", "/v1/queues/submissions", order1},
		{"GET", "/v1/tasks?state=Error&limit=7&cursor=3&tenant=acme&workflow=order@1&unfinished=true", ""},
		{"GET", "/v1/tasks/order-1?wait=0s", ""},
		{"POST", "/v1/tasks/order-1/cancel", `{"reason":"no stock"}`},
		{"POST", "/v1/tasks/order-1/signal", `{"signal":"approved","payload":{"by":"me"}}`},
		{"POST", "/v1/rejected/1/resend", `{"body":"{}"}`},
		{"DELETE", "/v1/rejected/9223372036854775807", ""},
		{"GET", "/v1/queues/shop/notices?after=1&limit=10", ""},
		{"DELETE", "/v1/queues/shop/notices/-1", ""},
		{"GET", "/v1/alerts?after=x", ""},
	} {
		f.Add(r[0], r[1], []byte(r[2]))
	}
	f.Fuzz(func(t *testing.T, method, target string, body []byte) {
		at, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") || strings.Contains(at.RawQuery, "wait") {
			return // net/http refuses it; and a test does not wait
		}
		d := apitest.New(t, nil)
		first := serve(d, request("POST", "/v1/tasks", order1))
		if first.Code != 202 {
			t.Fatalf("the first order: %d", first.Code)
		}
		r := request("GET", "/", string(body))
		r.Method, r.URL, r.RequestURI = method, at, target
		if body != nil {
			r.Header.Set("Content-Type", "application/json")
		}
		checkAnswer(t, serve(d, r))
	})
}

// checkAnswer holds an answer against what is documented of all.
func checkAnswer(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code >= 500 && w.Code != 501 {
		t.Errorf("answer %d %s", w.Code, w.Body)
	}
	if w.Code < 400 {
		return
	}
	var refusal struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &refusal); err != nil && w.Body.Len() > 0 {
		t.Errorf("answer %d is not JSON: %.200s", w.Code, w.Body)
	}
}
