package outlet

import (
	"context"
	"errors"
	"fmt"

	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/task"
)

// The attributes of notices and alerts, to filter by.
const (
	attributeTask     = "TaskID"
	attributeStatus   = "Status"
	attributeWorkflow = "Workflow"
)

// Notify sends each notice to its response queue, as the JSON of task.Notice with
// the attributes TaskID and Status. All are tried; the error joins what may not
// have been sent. What can't be sent on any try is captured as rejected, and that
// is no error.
func (o *Outlet) Notify(ctx context.Context, notices []task.Notice) error {
	parcels, numbers := make([]parcel, len(notices)), make(map[string][]int)
	var names []string
	for i, n := range notices {
		body, err := queue.Encode(n)
		if err != nil {
			return fmt.Errorf("encoding notice %s: %w", n.ID, err)
		}
		parcels[i].body = legalJSON(body)
		parcels[i].with(attributeTask, string(n.Task))
		parcels[i].with(attributeStatus, n.Status)
		if numbers[n.Queue] == nil {
			names = append(names, n.Queue)
		}
		numbers[n.Queue] = append(numbers[n.Queue], i)
	}
	failed := make(map[int]error)
	for _, name := range names {
		o.notify(ctx, name, numbers[name], parcels, failed)
	}
	return o.capture(ctx, notices, parcels, failed)
}

// notify sends the notices of one response queue.
func (o *Outlet) notify(ctx context.Context, name string, numbers []int, parcels []parcel, failed map[int]error) {
	if err := o.Responses.Check(name); err != nil {
		for _, i := range numbers {
			failed[i] = &final{err.Error()}
		}
		return
	}
	mine := make([]parcel, len(numbers))
	for n, i := range numbers {
		mine[n] = parcels[i]
	}
	for n, err := range o.send(ctx, name, o.Responses[name], mine) {
		failed[numbers[n]] = err
	}
}

// capture rejects the notices that can't be sent on any try, and returns the
// causes of the others.
func (o *Outlet) capture(ctx context.Context, notices []task.Notice, parcels []parcel, failed map[int]error) error {
	var errs []error
	for i, n := range notices {
		err := failed[i]
		if hopeless := (*final)(nil); errors.As(err, &hopeless) {
			err = o.Reject(ctx, store.Rejected{
				Queue: n.Queue, Body: []byte(parcels[i].body), Reason: "this notice can't be delivered: " + err.Error(),
			})
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("telling notice %s: %w", n.ID, err))
		}
	}
	return errors.Join(errs...)
}
