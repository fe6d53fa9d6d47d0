package outlet_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"

	"triad/shared/api"
)

// TestTheAPIOverAnInbox lists and dismisses, and passes on what to do about the
// rest in the words of the Inbox.
func TestTheAPIOverAnInbox(t *testing.T) {
	t.Parallel()
	r := inMemory()
	r.reject(t, "a")
	handler := api.New(api.Config{Ledger: r.in})
	serve := func(method, path string, status int, into any) {
		t.Helper()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+path, nil))
		if w.Code != status {
			t.Fatalf("%s %s: status %d, want %d: %s", method, path, w.Code, status, w.Body)
		}
		if into == nil {
			return
		}
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			t.Fatal(err)
		}
	}
	var page api.RejectedPage
	serve("GET", "/v1/rejected", 200, &page)
	if len(page.Rejected) != 1 || page.Rejected[0].Body != "a" || page.Rejected[0].Queue != "submissions" {
		t.Fatalf("rejected are %v, want a of the submissions", page.Rejected)
	}
	serve("DELETE", "/v1/rejected/"+fmt.Sprint(page.Rejected[0].Seq), 204, nil)
	serve("GET", "/v1/rejected", 200, &page)
	equal(t, "left", len(page.Rejected), 0)

	var refused api.ErrorBody
	serve("GET", "/v1/queues/shp/notices", 400, &refused)
	equal(t, "unknown queue", refused.Error, api.Failure{Code: api.CodeUnsupported, Message: `this deployment has no response queue "shp": there are depot, shop`})
	serve("GET", "/v1/alerts", 400, &refused)
	_, err := r.in.Mail().Alerts(t.Context(), 0, 1)
	equal(t, "alerts", refused.Error, api.Failure{Code: api.CodeUnsupported, Message: text(err)})
}
