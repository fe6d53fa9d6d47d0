package api

import (
	"encoding/json"
	"net/http"
	"unicode/utf8"

	"triad/shared/doctor"
	"triad/shared/store"
	"triad/shared/task"
)

func acceptedOf(t task.Task) Accepted {
	return Accepted{ID: t.ID, Workflow: t.Workflow, State: t.State, Location: location(t.ID)}
}

func summaryOf(t task.Task) Summary {
	out := Summary{
		ID: t.ID, Workflow: t.Workflow, State: t.State, Version: t.Version, FailureCount: t.FailureCount,
		CompleteBy: Time(t.CompleteBy), Deadline: Time(t.Deadline), Goal: t.Goal, Reason: t.Reason,
		Paused: t.Paused, Tenant: t.Tenant, CreatedAt: Time(t.CreatedAt), EndedAt: Time(t.EndedAt),
		StepCount: len(t.Steps),
	}
	for _, s := range t.Steps {
		if s.State == task.Processed || s.State == task.Skipped {
			out.StepsDone++
		}
	}
	return out
}

func taskOf(t task.Task) Task {
	out := Task{
		Summary: summaryOf(t), LockedBy: t.LockedBy, ResponseQueue: t.ResponseQueue,
		Resubmits: t.Resubmits, Steps: make([]Step, len(t.Steps)), Order: t.Order,
	}
	for i, s := range t.Steps {
		out.Steps[i] = Step{
			Name: s.Name, State: s.State, Attempt: s.Attempt, FailureCount: s.FailureCount, Waits: s.Waits,
			LockedBy: s.LockedBy, CompleteBy: Time(s.CompleteBy), Undo: s.Undo, Signalled: s.Signalled,
			StartedAt: Time(s.StartedAt), EndedAt: Time(s.EndedAt), Error: s.Error, Output: s.Output,
		}
	}
	return out
}

func workflowOf(w task.Workflow) Workflow {
	out := Workflow{Name: w.Name, Version: w.Version, CompleteWithin: w.CompleteWithin.String(), Steps: make([]WorkflowStep, len(w.Steps))}
	for i, s := range w.Steps {
		step := WorkflowStep{Name: s.Name, Agent: s.Agent, Signal: s.Signal, Undo: s.Undo != nil}
		if s.Wait > 0 {
			step.Wait = s.Wait.String()
		}
		for _, before := range s.After {
			step.After = append(step.After, w.Steps[before].Name)
		}
		out.Steps[i] = step
	}
	return out
}

func rejectedOf(r store.Rejected) Rejected {
	out := Rejected{Seq: r.Seq, Queue: r.Queue, Reason: r.Reason, At: Time(r.At)}
	if utf8.Valid(r.Body) {
		out.Body = string(r.Body)
	} else {
		out.BodyBase64 = r.Body
	}
	return out
}

func noticeOf(n store.KeptNotice) Notice {
	return Notice{
		Seq: n.Seq, ID: n.ID, Task: n.Task, Workflow: n.Workflow, Status: n.Status,
		Reason: n.Reason, At: Time(n.At), Outputs: n.Outputs,
	}
}

func alertOf(a store.KeptAlert) Alert {
	return Alert{
		Seq: a.Seq, ID: a.ID, Task: a.Task, Workflow: a.Workflow, Step: a.Step,
		Subject: a.Subject, Action: a.Action, At: Time(a.At),
	}
}

func examinationOf(r doctor.Report) Examination {
	return Examination{At: Time(r.At), Full: r.Full, Healthy: r.Healthy(), Checks: each(r.Checks, checkOf)}
}

func checkOf(c doctor.Check) Check {
	return Check{
		Name: c.Name, Status: c.Status, Looked: c.Looked, Of: c.Of, Partial: c.Partial, Found: c.Found,
		Examples: each(c.Examples, func(f doctor.Finding) Finding { return Finding(f) }), Why: c.Why, Action: c.Action,
	}
}

// each translates a page. The result is never nil: JSON has [] and not null.
func each[A, B any](all []A, one func(A) B) []B {
	out := make([]B, len(all))
	for i := range all {
		out[i] = one(all[i])
	}
	return out
}

// writeJSON writes an answer. A client that went away is no error of ours, and
// the shapes of this package can always be encoded, but for a stored order or
// output that is no JSON.
func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status = http.StatusInternalServerError
		body = []byte(`{"error":{"code":"damaged","message":"what is stored can't be written as JSON: restore the store's file from a copy"}}`)
	}
	w.Header()["Content-Type"] = []string{"application/json"}
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
