package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"triad/shared/api"
	"triad/shared/queue"
	"triad/shared/submission"
	"triad/shared/task"
)

// BenchmarkSubmit is what the door itself costs for each submission: routing,
// guarding, reading, answering.
func BenchmarkSubmit(b *testing.B) {
	h := api.New(api.Config{Submit: accepting{}})
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/tasks", strings.NewReader(order1))
		h.ServeHTTP(discard{http.Header{}}, r)
	}
}

// accepting is a Submission that does nothing.
type accepting struct{}

func (accepting) Submit(_ context.Context, sub task.Submission) (submission.Receipt, error) {
	return submission.Receipt{Task: task.Task{ID: sub.ID, Workflow: "order@1", State: task.Processing}}, nil
}

func (accepting) Handle(context.Context, queue.Delivery) error { return nil }

// discard is a ResponseWriter to nowhere.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
