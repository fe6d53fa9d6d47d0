package api

import (
	"context"
	"net/http"
	"slices"

	"triad/shared/operator"
	"triad/shared/store"
	"triad/shared/task"
)

// Bounds of a page.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// taskStates are the states that a task can have.
var taskStates = []task.State{task.Pending, task.Processing, task.Processed, task.Error,
	task.Compensating, task.Compensated, task.Cancelled}

// listTasks serves GET /v1/tasks.
func (s *server) listTasks(w http.ResponseWriter, r *http.Request) error {
	q := parameters(r, "state", "workflow", "tenant", "unfinished", "limit", "cursor")
	ask := store.ListQuery{
		State: task.State(q.text("state")), Workflow: q.text("workflow"), Tenant: q.text("tenant"),
		Unfinished: q.truth("unfinished"), Cursor: q.text("cursor"),
		Limit: int(q.whole("limit", 1, maxLimit, defaultLimit)),
	}
	if ask.State != "" && !slices.Contains(taskStates, ask.State) {
		q.fail("state", "parameter state is %q: the states are %v", shorten(string(ask.State)), taskStates)
	}
	if q.err != nil {
		return q.err
	}
	page, err := s.Store.List(r.Context(), ask)
	if err != nil {
		return err
	}
	damaged := each(page.Damaged, func(d store.Damaged) task.ID { return d.ID })
	writeJSON(w, http.StatusOK, TaskPage{Tasks: each(page.Tasks, summaryOf), Damaged: damaged, Next: page.Next})
	return nil
}

// showTask serves GET /v1/tasks/{id}.
func (s *server) showTask(w http.ResponseWriter, r *http.Request) error {
	id, err := taskID(r)
	if err != nil {
		return err
	}
	t, err := s.Store.Load(r.Context(), id)
	if err != nil {
		return naming(id, err)
	}
	writeJSON(w, http.StatusOK, taskOf(t))
	return nil
}

// ask serves POST /v1/tasks/{id}/{verb}. Begun, it is finished even if the
// client goes away.
func (s *server) ask(w http.ResponseWriter, r *http.Request) error {
	id, err := taskID(r)
	if err != nil {
		return err
	}
	a := operator.Ask{Verb: operator.Verb(r.PathValue("verb"))}
	if !slices.Contains(operator.Verbs(), a.Verb) {
		return failf(http.StatusBadRequest, CodeInvalid, "verb", "there is no verb %q: the verbs are %v", shorten(string(a.Verb)), operator.Verbs())
	}
	if err := readJSON(w, r, &a); err != nil {
		return err
	}
	if err := checkAsk(a); err != nil {
		return err
	}
	t, err := s.Operate.Do(context.WithoutCancel(r.Context()), id, a)
	if err != nil {
		return naming(id, err)
	}
	writeJSON(w, http.StatusOK, taskOf(t))
	return nil
}

// checkAsk checks that signals have a name, and nothing else has.
func checkAsk(a operator.Ask) error {
	switch {
	case a.Verb == operator.Signal && a.Signal == "":
		return failf(http.StatusBadRequest, CodeInvalid, "signal", "field signal is missing: name the signal")
	case a.Verb != operator.Signal && a.Signal != "":
		return failf(http.StatusBadRequest, CodeInvalid, "signal", "field signal: %s takes none", a.Verb)
	case a.Verb != operator.Signal && a.Payload != nil:
		return failf(http.StatusBadRequest, CodeInvalid, "payload", "field payload: %s takes none", a.Verb)
	case len(a.Signal) > task.MaxID:
		return failf(http.StatusBadRequest, CodeInvalid, "signal", "field signal has %d bytes: at most %d are allowed", len(a.Signal), task.MaxID)
	case len(a.Payload) > task.MaxOutput:
		return failf(http.StatusRequestEntityTooLarge, CodeTooLarge, "payload", "field payload has %d bytes: at most %d are allowed", len(a.Payload), task.MaxOutput)
	case len(a.Reason) > task.MaxError:
		return failf(http.StatusBadRequest, CodeInvalid, "reason", "field reason has %d bytes: at most %d are kept", len(a.Reason), task.MaxError)
	}
	return nil
}

// naming says which task there is none of.
func naming(id task.ID, err error) error {
	if f := translate(err); f.Code == CodeNotFound {
		return failf(http.StatusNotFound, CodeNotFound, "id", "there is no task %s", id)
	}
	return err
}

// listWorkflows serves GET /v1/workflows.
func (s *server) listWorkflows(w http.ResponseWriter, r *http.Request) error {
	if q := parameters(r); q.err != nil {
		return q.err
	}
	var all []task.Workflow
	if s.Workflows != nil {
		all = s.Workflows()
	}
	writeJSON(w, http.StatusOK, WorkflowList{each(all, workflowOf)})
	return nil
}
