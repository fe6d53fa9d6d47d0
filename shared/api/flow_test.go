package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/api"
	"triad/shared/api/apitest"
	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/submission"
	"triad/shared/task"
)

const refused = `{"id":"order-9","workflow":"order","order":{"refuse":"charge"},"responseQueue":"shop"}`

var now = api.Time(task.At(apitest.Now))

func TestTaskIsShownWithEverything(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, nil)
	do(t, d, 202, "POST", "/v1/tasks", refused)
	d.Settle(t)
	w := do(t, d, 200, "GET", "/v1/tasks/order-9", "")
	if !strings.Contains(w.Body.String(), `"createdAt":"2026-01-31T12:00:00.000Z"`) {
		t.Errorf("times are not as promised: %s", w.Body)
	}
	got := decode[api.Task](t, w)
	got.Version, got.CompleteBy = 0, 0
	want := api.Task{
		Summary: api.Summary{ID: "order-9", Workflow: "order@1", State: task.Error, FailureCount: 1,
			Deadline: now + 24*3600*1000, Goal: task.Error, Reason: got.Reason, CreatedAt: now, EndedAt: now, StepsDone: 1, StepCount: 2},
		ResponseQueue: "shop",
		Order:         json.RawMessage(`{"refuse":"charge"}`),
		Steps: []api.Step{
			{Name: "reserve", State: task.Processed, Attempt: 1, StartedAt: now, EndedAt: now, Output: json.RawMessage(`{"by":"inventory"}`)},
			{Name: "charge", State: task.Error, Attempt: 1, FailureCount: 1, StartedAt: now, EndedAt: now, Error: "card \x1b[31mexpired"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Reason == "" {
		t.Error("there is no reason")
	}
}

func TestTasksAreListedByFilterAndPage(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, nil)
	do(t, d, 202, "POST", "/v1/tasks", order1)
	do(t, d, 202, "POST", "/v1/tasks", refused)
	d.Settle(t)
	do(t, d, 202, "POST", "/v1/tasks", `{"id":"a-1","workflow":"approval","order":{}}`)
	for target, want := range map[string][]task.ID{
		"/v1/tasks":                  {"a-1", "order-1", "order-9"},
		"/v1/tasks?state=Error":      {"order-9"},
		"/v1/tasks?unfinished=true":  {"a-1"},
		"/v1/tasks?workflow=order@1": {"order-1", "order-9"},
		"/v1/tasks?tenant=acme":      {"order-1"},
		"/v1/tasks?tenant=nobody":    nil,
	} {
		var got []task.ID
		for cursor := ""; ; {
			page := decode[api.TaskPage](t, do(t, d, 200, "GET", paged(target, cursor), ""))
			for _, found := range page.Tasks {
				got = append(got, found.ID)
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		sorted := cmp.Transformer("sorted", func(ids []task.ID) map[task.ID]bool {
			set := map[task.ID]bool{}
			for _, id := range ids {
				set[id] = true
			}
			return set
		})
		if diff := cmp.Diff(want, got, sorted); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
	}
}

// paged adds a small limit and the cursor to a target.
func paged(target, cursor string) string {
	join := "?"
	if strings.Contains(target, "?") {
		join = "&"
	}
	target += join + "limit=1"
	if cursor != "" {
		target += "&cursor=" + cursor
	}
	return target
}

func TestOperatorsAskAndTasksObey(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, nil)
	do(t, d, 202, "POST", "/v1/tasks", refused)
	d.Settle(t)
	d.Mend()
	do(t, d, 200, "POST", "/v1/tasks/order-9/resubmit", `{"reason":"card renewed"}`)
	d.Settle(t)
	if got := decode[api.Task](t, do(t, d, 200, "GET", "/v1/tasks/order-9", "")); got.State != task.Processed {
		t.Errorf("resubmitted and settled, the task is %s", got.State)
	}
	do(t, d, 202, "POST", "/v1/tasks", `{"id":"a-1","workflow":"approval","order":{}}`)
	if got := decode[api.Task](t, do(t, d, 200, "POST", "/v1/tasks/a-1/pause", "")); !got.Paused {
		t.Error("the task is not paused")
	}
	do(t, d, 200, "POST", "/v1/tasks/a-1/pause", "{}")
	do(t, d, 200, "POST", "/v1/tasks/a-1/resume", "", "Content-Type", "application/json")
	d.Settle(t)
	got := decode[api.Task](t, do(t, d, 200, "POST", "/v1/tasks/a-1/signal", `{"signal":"approved","payload":{"by":"kim"}}`))
	if got.State != task.Processed || string(got.Steps[1].Output) != `{"by":"kim"}` {
		t.Errorf("signalled, the task is %s with %s", got.State, got.Steps[1].Output)
	}
	do(t, d, 202, "POST", "/v1/tasks", `{"id":"a-2","workflow":"approval","order":{}}`)
	do(t, d, 200, "POST", "/v1/tasks/a-2/cancel", `{"reason":"no more"}`)
	d.Settle(t)
	if got := decode[api.Task](t, do(t, d, 200, "GET", "/v1/tasks/a-2", "")); got.State != task.Cancelled || got.Reason != "no more" {
		t.Errorf("cancelled and settled, the task is %s because %q", got.State, got.Reason)
	}
}

func TestQueuedMessagesAreTakenAndTheUnreadableCaptured(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, nil)
	for _, body := range []string{order1, `{"id":"order-2"`, "\xff", `{"id":"order-3","workflow":"order","order":1}`} {
		do(t, d, 202, "POST", "/v1/queues/submissions", body, "Content-Type", "text/plain")
	}
	do(t, d, 200, "GET", "/v1/tasks/order-1", "")
	page := decode[api.RejectedPage](t, do(t, d, 200, "GET", "/v1/rejected", ""))
	var bodies []string
	for _, r := range page.Rejected {
		bodies = append(bodies, r.Body+string(r.BodyBase64))
	}
	if diff := cmp.Diff([]string{`{"id":"order-2"`, "\xff", `{"id":"order-3","workflow":"order","order":1}`}, bodies); diff != "" {
		t.Fatal(diff)
	}
	seq := func(i int) string { return seqText(page.Rejected[i].Seq) }
	do(t, d, 400, "POST", "/v1/rejected/"+seq(0)+"/resend", "")
	do(t, d, 202, "POST", "/v1/rejected/"+seq(0)+"/resend", `{"body":{"id":"order-2","workflow":"order","order":{}}}`)
	do(t, d, 204, "DELETE", "/v1/rejected/"+seq(1), "")
	do(t, d, 204, "DELETE", "/v1/rejected/"+seq(1), "")
	page = decode[api.RejectedPage](t, do(t, d, 200, "GET", "/v1/rejected?limit=1", ""))
	if len(page.Rejected) != 1 || page.Rejected[0].Body != bodies[2] || page.Next != page.Rejected[0].Seq {
		t.Errorf("left are %+v", page)
	}
	page = decode[api.RejectedPage](t, do(t, d, 200, "GET", "/v1/rejected?after="+seqText(page.Next), ""))
	if len(page.Rejected) != 0 || page.Rejected == nil {
		t.Errorf("after the last there are %+v", page)
	}
}

func seqText(n int64) string { return strconv.FormatInt(n, 10) }

func TestMessageOfAnotherQueueIsNotResentAsASubmission(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, nil)
	if err := d.Store.Reject(t.Context(), store.Rejected{Queue: queue.Scheduler, Body: []byte(order1), Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	seq := decode[api.RejectedPage](t, do(t, d, 200, "GET", "/v1/rejected", "")).Rejected[0].Seq
	do(t, d, 409, "POST", "/v1/rejected/"+seqText(seq)+"/resend", "")
	do(t, d, 404, "GET", "/v1/tasks/order-1", "")
}

func TestNoticesAndAlertsAreReadAndAcknowledged(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, nil)
	do(t, d, 202, "POST", "/v1/tasks", refused)
	d.Settle(t)
	page := decode[api.NoticePage](t, do(t, d, 200, "GET", "/v1/queues/shop/notices", ""))
	var statuses []string
	for _, n := range page.Notices {
		statuses = append(statuses, n.Status)
		do(t, d, 204, "DELETE", "/v1/queues/shop/notices/"+seqText(n.Seq), "")
	}
	if diff := cmp.Diff([]string{"Received", "Error"}, statuses); diff != "" {
		t.Error(diff)
	}
	page = decode[api.NoticePage](t, do(t, d, 200, "GET", "/v1/queues/shop/notices", ""))
	if len(page.Notices) != 0 {
		t.Errorf("acknowledged, there are still %+v", page)
	}
	alerts := decode[api.AlertPage](t, do(t, d, 200, "GET", "/v1/alerts", ""))
	if len(alerts.Alerts) != 1 || alerts.Alerts[0].Step != "charge" || alerts.Alerts[0].At != now {
		t.Errorf("the alerts are %+v", alerts)
	}
}

func TestLongPollAnswersWhenThereIsANoticeOrTheWaitIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := apitest.New(t, nil)
		start := time.Now()
		if page := decode[api.NoticePage](t, do(t, d, 200, "GET", "/v1/queues/shop/notices?wait=5s", "")); len(page.Notices) != 0 {
			t.Errorf("there are %+v", page)
		}
		if got := time.Since(start); got != 5*time.Second {
			t.Errorf("waited %s, want 5s", got)
		}
		answer := make(chan *httptest.ResponseRecorder)
		go func() { answer <- serve(d, request("GET", "/v1/queues/shop/notices?wait=30s", "")) }()
		synctest.Wait()
		do(t, d, 202, "POST", "/v1/tasks", order1)
		if page := decode[api.NoticePage](t, <-answer); len(page.Notices) != 1 {
			t.Errorf("there are %+v", page)
		}
		if got := time.Since(start); got > 6*time.Second {
			t.Errorf("the notice was told after %s", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			answer <- serve(d, request("GET", "/v1/queues/empty/notices?wait=30s", "").WithContext(ctx))
		}()
		synctest.Wait()
		cancel()
		<-answer
	})
}

func TestFaultsOfTheEngineHaveTheirAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		err        error
		status     int
		code       api.Code
		retryAfter string
	}{
		{"store full", store.ErrFull, 507, api.CodeStoreFull, "30"},
		{"store not writable", store.ErrReadOnly, 503, api.CodeUnavailable, "1"},
		{"too large for the store", store.ErrTooLarge, 413, api.CodeTooLarge, ""},
		{"conflict", store.ErrConflict, 503, api.CodeUnavailable, "1"},
		{"damaged", store.ErrDamaged, 500, api.CodeDamaged, ""},
		{"anything else", errors.New("secret path"), 503, api.CodeUnavailable, "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := apitest.New(t, func(config *api.Config) { config.Submit = failing{c.err} })
			for _, target := range []string{"/v1/tasks", "/v1/queues/submissions"} {
				w := do(t, d, c.status, "POST", target, order1)
				body := decode[api.ErrorBody](t, w)
				if body.Error.Code != c.code || w.Header().Get("Retry-After") != c.retryAfter {
					t.Errorf("%s: got %s, Retry-After %q", target, w.Body, w.Header().Get("Retry-After"))
				}
				if strings.Contains(body.Error.Message, "secret") {
					t.Errorf("the answer tells too much: %s", w.Body)
				}
			}
		})
	}
}

func TestTheCauseIsToldToWhoOwnsTheStore(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, func(config *api.Config) {
		config.Submit = failing{errors.New("no such table")}
		config.Explain = func(cause error) string { return cause.Error() + ": deploy it" }
	})
	got := decode[api.ErrorBody](t, do(t, d, 503, "POST", "/v1/tasks", order1))
	if want := "no such table: deploy it"; got.Error.Message != want {
		t.Errorf("got %q, want %q", got.Error.Message, want)
	}
}

// failing is a Submission that fails.
type failing struct{ err error }

func (f failing) Submit(context.Context, task.Submission) (submission.Receipt, error) {
	return submission.Receipt{}, f.err
}

func (f failing) Handle(context.Context, queue.Delivery) error { return f.err }

func TestFullServerAsksToComeBack(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, func(c *api.Config) {
		c.Full = func() (time.Duration, bool) { return 1500 * time.Millisecond, true }
	})
	for _, target := range []string{"/v1/tasks", "/v1/queues/submissions"} {
		w := do(t, d, 429, "POST", target, order1)
		if got := w.Header().Get("Retry-After"); got != "2" {
			t.Errorf("Retry-After is %q, want 2", got)
		}
	}
	do(t, d, 404, "GET", "/v1/tasks/order-1", "")
}

func TestSubmissionsBeyondTheBoundAreRefused(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, func(c *api.Config) { c.MaxSubmits = 1 })
	body, held := io.Pipe()
	first := make(chan *httptest.ResponseRecorder)
	go func() {
		r := request("POST", "/v1/tasks", "")
		r.Body, r.ContentLength = body, -1
		first <- serve(d, r)
	}()
	if _, err := io.WriteString(held, order1); err != nil { // it is being read, so it is under way
		t.Fatal(err)
	}
	do(t, d, 429, "POST", "/v1/tasks", order1)
	_ = held.Close()
	if w := <-first; w.Code != 202 {
		t.Errorf("the first is answered %d %s", w.Code, w.Body)
	}
	do(t, d, 200, "POST", "/v1/tasks", order1)
}

func TestSubmissionOfAClientThatWentAwayIsFinished(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	serve(d, request("POST", "/v1/tasks", order1).WithContext(ctx))
	d.Settle(t)
	if got := decode[api.Task](t, do(t, d, 200, "GET", "/v1/tasks/order-1", "")); got.State != task.Processed {
		t.Errorf("the task is %s", got.State)
	}
}

func TestHealthAndMetricsAreTheDeployments(t *testing.T) {
	t.Parallel()
	do(t, apitest.New(t, nil), 200, "GET", "/healthz", "")
	d := apitest.New(t, func(c *api.Config) {
		c.Ready = func() error { return errors.New("the disk is full") }
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
	})
	if got := decode[api.ErrorBody](t, do(t, d, 503, "GET", "/healthz", "")); got.Error.Code != api.CodeNotReady {
		t.Errorf("got %+v", got)
	}
	if w := do(t, d, 200, "GET", "/metrics", ""); w.Body.String() != "up 1\n" {
		t.Errorf("got %s", w.Body)
	}
}
