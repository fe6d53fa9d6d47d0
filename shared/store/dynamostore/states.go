package dynamostore

import "triad/shared/task"

// stateCodes are the states of steps, and the goal of the task, as they are
// stored: an order being undone has ten of them. The state of the task is spelled
// out. What has no code stays as it is.
var stateCodes = map[task.State]string{
	task.Pending: "pend", task.Processing: "proc", task.Processed: "done", task.Error: "err",
	task.Compensating: "undo", task.Compensated: "comp", task.Cancelled: "canc", task.Skipped: "skip",
}

func stateCode(s task.State) string {
	if code, found := stateCodes[s]; found {
		return code
	}
	return string(s)
}

func stateOf(code string) task.State {
	for s, c := range stateCodes {
		if c == code {
			return s
		}
	}
	return task.State(code)
}

// tellsUndo reports the codes that imply StepState.Undo: it needs no attribute
// with them. A step in such a state without it has its state spelled out.
func tellsUndo(code string) bool {
	return code == stateCodes[task.Compensating] || code == stateCodes[task.Compensated]
}

// stepCode is the code of a step's state, and whether Undo has to be stored too.
func stepCode(s task.StepState) (code string, undo bool) {
	switch code = stateCode(s.State); {
	case !tellsUndo(code):
		return code, s.Undo
	case s.Undo:
		return code, false
	}
	return string(s.State), false
}
