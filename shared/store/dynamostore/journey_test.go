package dynamostore_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"

	"triad/shared/task"
)

// journey is an order to which random things happen.
type journey struct {
	w      task.Workflow
	random *rand.Rand
	now    task.Millis
	task   task.Task
	output json.RawMessage     // of each step
	text   string              // of each failure, and of what operators ask for
	commit func(task.Decision) // called for each change
}

// fullError is an error text that has to be cut.
var fullError = strings.Repeat("e", 2*task.MaxError)

func (j *journey) submit(id task.ID) {
	j.apply(task.Event{Kind: task.Submitted, Shards: 16, Submission: &task.Submission{
		ID: id, Workflow: "order", ResponseQueue: "order-notices", Tenant: "shop-eu", Order: json.RawMessage(`{"item":"spade","n":1,"total":12.5}`),
	}})
}

func (j *journey) apply(e task.Event) {
	e.By = instance
	d, err := task.Decide(j.w, j.task, e, j.now.Time())
	if err != nil {
		panic(err)
	}
	if !d.Changed {
		return
	}
	d.Task.Op = instance + "." + strconv.FormatInt(1<<30+d.Task.Version, 36)
	j.task = d.Task
	j.commit(d)
}

// event is the next thing that happens.
func (j *journey) event() {
	j.now += task.Millis(j.random.IntN(30_000))
	switch n := j.random.IntN(40); n {
	case 0:
		j.apply(task.Event{Kind: task.CancelRequested, Reason: j.text})
	case 1:
		j.apply(task.Event{Kind: task.UndoRequested, Reason: j.text})
	case 2, 3:
		j.apply(task.Event{Kind: task.Resubmitted})
	case 4, 5:
		j.apply(task.Event{Kind: task.PauseRequested})
	case 6, 7, 8:
		j.apply(task.Event{Kind: task.ResumeRequested})
	case 9, 10:
		j.apply(task.Event{Kind: task.Released, Version: j.task.Version})
	case 11: // nobody looks for long
		j.now += task.Millis(j.random.IntN(50 * 86_400_000))
		j.overdue()
	case 12, 13, 14, 15:
		j.overdue()
	case 16, 17, 18, 19, 20:
		j.now += 60_000
		j.apply(task.Event{Kind: task.Woken})
	default:
		j.reply(true)
	}
}

func (j *journey) overdue() {
	j.now = max(j.now, j.task.CompleteBy)
	j.apply(task.Event{Kind: task.Overdue, Unsourced: true})
}

// reply answers each live attempt, some of them without success if it may fail.
func (j *journey) reply(mayFail bool) {
	for _, s := range j.task.Steps {
		if !s.Live() {
			continue
		}
		e := task.Event{Kind: task.Replied, Step: s.Name, Attempt: s.Attempt, LockedBy: s.LockedBy, Undo: s.State == task.Compensating,
			Outcome: task.Succeeded, Output: j.output}
		if n := j.random.IntN(8); mayFail && n < 4 {
			e.Outcome, e.Output, e.Error, e.Doubt = task.FailedTransiently, nil, j.text, n == 3
			if n > 1 {
				e.Outcome = task.FailedPermanently
			}
		}
		j.apply(e)
	}
}

// end brings the order to an end that is not Error.
func (j *journey) end() {
	for range 100 {
		j.apply(task.Event{Kind: task.ResumeRequested})
		j.apply(task.Event{Kind: task.Resubmitted})
		j.apply(task.Event{Kind: task.Woken})
		j.reply(false)
		j.apply(task.Event{Kind: task.Released, Version: j.task.Version})
		j.now += 60_000
	}
}
