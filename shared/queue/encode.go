package queue

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"triad/shared/task"
)

// EncodeRequest gives what Encode(r) gives, but for the white space of raw
// fields, in one allocation. r.Input and r.Output must be valid JSON.
func EncodeRequest(r *task.Request) []byte {
	b := make([]byte, 0, 220+2*len(r.Task)+2*len(r.Step)+len(r.Agent)+len(r.Workflow)+len(r.Input)+len(r.Output))
	b = append(b, `{"task":`...)
	b = appendString(b, string(r.Task))
	b = append(b, `,"workflow":`...)
	b = appendString(b, r.Workflow)
	b = append(b, `,"agent":`...)
	b = appendString(b, r.Agent)
	b = appendToken(b, token{step: r.Step, undo: r.Undo, attempt: r.Attempt, lockedBy: r.LockedBy})
	b = append(b, `,"completeBy":`...)
	b = strconv.AppendInt(b, int64(r.CompleteBy), 10)
	b = append(b, `,"key":`...)
	b = appendString(b, r.Key)
	b = appendRaw(b, `,"input":`, r.Input)
	b = appendRaw(b, `,"output":`, r.Output)
	if r.Tenant != "" {
		b = append(b, `,"tenant":`...)
		b = appendString(b, r.Tenant)
	}
	return append(b, '}')
}

func appendRaw(b []byte, name string, raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return b
	}
	return append(append(b, name...), raw...)
}

// EncodeReply gives what Encode(ToScheduler{Reply: r}) gives, but for the white
// space of r.Output, in one allocation. r.Output must be valid JSON.
func EncodeReply(r *task.Reply) []byte {
	b := make([]byte, 0, 160+len(r.Task)+len(r.Step)+len(r.LockedBy)+len(r.Output)+len(r.Error))
	b = append(b, `{"reply":{"task":`...)
	b = appendString(b, string(r.Task))
	b = appendToken(b, token{step: r.Step, undo: r.Undo, attempt: r.Attempt, lockedBy: r.LockedBy})
	b = append(b, `,"outcome":`...)
	b = appendString(b, string(r.Outcome))
	b = appendRaw(b, `,"output":`, r.Output)
	if r.Error != "" {
		b = append(b, `,"error":`...)
		b = appendString(b, r.Error)
	}
	if r.Doubt {
		b = append(b, `,"doubt":true`...)
	}
	if r.RetryAfterMs != 0 {
		b = append(b, `,"retryAfterMs":`...)
		b = strconv.AppendInt(b, r.RetryAfterMs, 10)
	}
	return append(b, "}}"...)
}

// token is what a request and its reply have in common beside the task.
type token struct {
	step     string
	undo     bool
	attempt  int
	lockedBy string
}

func appendToken(b []byte, t token) []byte {
	b = append(b, `,"step":`...)
	b = appendString(b, t.step)
	if t.undo {
		b = append(b, `,"undo":true`...)
	}
	b = append(b, `,"attempt":`...)
	b = strconv.AppendInt(b, int64(t.attempt), 10)
	b = append(b, `,"lockedBy":`...)
	return appendString(b, t.lockedBy)
}

// appendString appends s as a JSON string.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // a string always has a JSON form
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
