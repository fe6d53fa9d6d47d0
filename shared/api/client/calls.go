package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"triad/shared/api"
	"triad/shared/operator"
	"triad/shared/task"
)

// Submit submits one submission, as JSON. already is true when it had been
// accepted before. ErrInvalid, ErrConflict, ErrFull, ErrUnavailable,
// ErrUnreachable; after the last two it may have been accepted: submit again.
func (c *Client) Submit(ctx context.Context, submission []byte) (accepted api.Accepted, already bool, err error) {
	status, err := c.call(ctx, http.MethodPost, "/v1/tasks", submission, &accepted)
	return accepted, status == http.StatusOK, err
}

// Task returns everything about a task. ErrNotFound.
func (c *Client) Task(ctx context.Context, id task.ID) (t api.Task, err error) {
	_, err = c.call(ctx, http.MethodGet, taskPath(id), nil, &t)
	return t, err
}

// Query selects tasks. Zero fields select everything.
type Query struct {
	State            task.State
	Workflow, Tenant string
	Unfinished       bool
	// Limit is 1 to 1,000; 0 leaves it to the server.
	Limit int
	// Cursor is the Next of the page before.
	Cursor string
}

// Tasks returns a page of tasks.
func (c *Client) Tasks(ctx context.Context, q Query) (page api.TaskPage, err error) {
	values := url.Values{}
	set(values, "state", string(q.State))
	set(values, "workflow", q.Workflow)
	set(values, "tenant", q.Tenant)
	set(values, "cursor", q.Cursor)
	number(values, "limit", int64(q.Limit))
	if q.Unfinished {
		values.Set("unfinished", "true")
	}
	_, err = c.call(ctx, http.MethodGet, "/v1/tasks?"+values.Encode(), nil, &page)
	return page, err
}

// Ask applies a verb to a task and returns the task as it is then. Asking for
// what is so already is a success. ErrNotFound, ErrConflict.
func (c *Client) Ask(ctx context.Context, id task.ID, a operator.Ask) (t api.Task, err error) {
	_, err = c.call(ctx, http.MethodPost, taskPath(id)+"/"+url.PathEscape(string(a.Verb)), a, &t)
	return t, err
}

// Workflows lists the definitions on offer.
func (c *Client) Workflows(ctx context.Context) ([]api.Workflow, error) {
	var list api.WorkflowList
	_, err := c.call(ctx, http.MethodGet, "/v1/workflows", nil, &list)
	return list.Workflows, err
}

// Rejected returns a page of the messages that could not be processed, after a
// sequence number. limit 0 leaves it to the server.
func (c *Client) Rejected(ctx context.Context, after int64, limit int) (page api.RejectedPage, err error) {
	_, err = c.call(ctx, http.MethodGet, "/v1/rejected?"+from(after, limit).Encode(), nil, &page)
	return page, err
}

// Resend submits a rejected message again, or corrected instead when that is not
// nil; accepted, it is no longer among the rejected. ErrNotFound, and as Submit.
func (c *Client) Resend(ctx context.Context, seq int64, corrected []byte) (accepted api.Accepted, err error) {
	_, err = c.call(ctx, http.MethodPost, rejectedPath(seq)+"/resend", api.Correction{Body: corrected}, &accepted)
	return accepted, err
}

// Dismiss drops a rejected message; it is no error when there is none.
func (c *Client) Dismiss(ctx context.Context, seq int64) error {
	_, err := c.call(ctx, http.MethodDelete, rejectedPath(seq), nil, nil)
	return err
}

// Notices returns a page of a response queue, after a sequence number, waiting
// up to wait (at most 30 seconds) for the first.
func (c *Client) Notices(ctx context.Context, queue string, after int64, limit int, wait time.Duration) (page api.NoticePage, err error) {
	values := from(after, limit)
	if wait > 0 {
		values.Set("wait", wait.String())
	}
	_, err = c.call(ctx, http.MethodGet, queuePath(queue)+"?"+values.Encode(), nil, &page)
	return page, err
}

// Acknowledge deletes a notice; it is no error when there is none.
func (c *Client) Acknowledge(ctx context.Context, queue string, seq int64) error {
	_, err := c.call(ctx, http.MethodDelete, queuePath(queue)+"/"+strconv.FormatInt(seq, 10), nil, nil)
	return err
}

// Enqueue puts a message on the submissions queue, as a producer would.
func (c *Client) Enqueue(ctx context.Context, message []byte) error {
	_, err := c.call(ctx, http.MethodPost, "/v1/queues/submissions", message, nil)
	return err
}

// Alerts returns a page of what operators were told, after a sequence number.
func (c *Client) Alerts(ctx context.Context, after int64, limit int) (page api.AlertPage, err error) {
	_, err = c.call(ctx, http.MethodGet, "/v1/alerts?"+from(after, limit).Encode(), nil, &page)
	return page, err
}

// maxExamination bounds one call of Examine: a full examination of a large store
// takes its time.
const maxExamination = time.Hour

// Examine has the deployment examined. full looks at every task, integrity at
// the store's file. ErrNotFound when the server has no doctor.
func (c *Client) Examine(ctx context.Context, full, integrity bool) (report api.Examination, err error) {
	values := url.Values{}
	for name, wanted := range map[string]bool{"full": full, "integrity": integrity} {
		if wanted {
			values.Set(name, "true")
		}
	}
	patient := *c
	patient.timeout = maxExamination
	_, err = patient.call(ctx, http.MethodGet, "/v1/doctor?"+values.Encode(), nil, &report)
	return report, err
}

// Healthy returns nil when the engine works.
func (c *Client) Healthy(ctx context.Context) error {
	_, err := c.call(ctx, http.MethodGet, "/healthz", nil, nil)
	return err
}

func taskPath(id task.ID) string { return "/v1/tasks/" + url.PathEscape(string(id)) }

func queuePath(queue string) string { return "/v1/queues/" + url.PathEscape(queue) + "/notices" }

func rejectedPath(seq int64) string { return "/v1/rejected/" + strconv.FormatInt(seq, 10) }

func from(after int64, limit int) url.Values {
	values := url.Values{}
	number(values, "after", after)
	number(values, "limit", int64(limit))
	return values
}

func set(values url.Values, name, value string) {
	if value != "" {
		values.Set(name, value)
	}
}

func number(values url.Values, name string, n int64) {
	if n != 0 {
		values.Set(name, strconv.FormatInt(n, 10))
	}
}
