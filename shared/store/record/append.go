package record

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"triad/shared/task"
)

// Append appends the record of t to dst and returns the extended slice. It
// leaves out the order and, but for a mark, outputs that are kept aside.
func Append(dst []byte, t task.Task) []byte {
	w := writer{b: append(dst, '{')}
	w.text(`"i":`, string(t.ID))
	w.text(`"w":`, t.Workflow)
	w.text(`"s":`, string(t.State))
	w.number(`"v":`, t.Version)
	w.text(`"o":`, t.Op)
	w.text(`"l":`, t.LockedBy)
	w.number(`"by":`, int64(t.CompleteBy))
	w.number(`"d":`, int64(t.Deadline))
	w.number(`"f":`, int64(t.FailureCount))
	w.text(`"g":`, string(t.Goal))
	w.text(`"r":`, t.Reason)
	w.flag(`"p":`, t.Paused)
	w.flag(`"ow":`, t.Owing)
	w.number(`"h":`, int64(t.Shard))
	w.text(`"q":`, t.ResponseQueue)
	w.text(`"t":`, t.Tenant)
	w.number(`"re":`, int64(t.Resubmits))
	w.text(`"oh":`, t.OrderHash)
	w.number(`"c":`, int64(t.CreatedAt))
	w.number(`"e":`, int64(t.EndedAt))
	if len(t.Steps) > 0 {
		w.key(`"st":`)
		w.steps(t.Steps, t.CreatedAt)
	}
	return append(w.b, '}')
}

// writer appends the members of JSON objects. Keys come quoted, with colon.
type writer struct{ b []byte }

func (w *writer) steps(steps []task.StepState, created task.Millis) {
	open := byte('[')
	for i := range steps {
		s := &steps[i]
		w.b = append(w.b, open, '{')
		w.text(`"n":`, s.Name)
		w.text(`"s":`, string(s.State))
		w.text(`"l":`, s.LockedBy)
		w.offset(`"by":`, s.CompleteBy, created)
		w.number(`"a":`, int64(s.Attempt))
		w.number(`"f":`, int64(s.FailureCount))
		w.number(`"w":`, int64(s.Waits))
		w.flag(`"dt":`, s.Doubt)
		w.flag(`"u":`, s.Undo)
		w.flag(`"sg":`, s.Signalled)
		w.offset(`"b":`, s.StartedAt, created)
		w.offset(`"e":`, s.EndedAt, created)
		w.number(`"k":`, s.Rank)
		w.text(`"x":`, s.Error)
		w.output(*s)
		w.b = append(w.b, '}')
		open = ','
	}
	w.b = append(w.b, ']')
}

func (w *writer) key(key string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, key...)
}

func (w *writer) text(key, s string) {
	if s != "" {
		w.key(key)
		w.quote(s)
	}
}

func (w *writer) number(key string, n int64) {
	if n != 0 {
		w.key(key)
		w.b = strconv.AppendInt(w.b, n, 10)
	}
}

// offset writes a time as milliseconds since created. An offset of 0 is
// written: absent means that there is no time.
func (w *writer) offset(key string, at, created task.Millis) {
	if at != 0 {
		w.key(key)
		w.b = strconv.AppendInt(w.b, int64(at-created), 10)
	}
}

func (w *writer) flag(key string, on bool) {
	if on {
		w.key(key)
		w.b = append(w.b, "true"...)
	}
}

// output embeds a small output. Bytes that are not plain JSON are kept too,
// in base64, so that what an agent returned survives whatever it was.
func (w *writer) output(s task.StepState) {
	switch {
	case len(s.Output) == 0:
	case Aside(s):
		w.flag(`"big":`, true)
	case embeddable(s.Output):
		w.key(`"out":`)
		w.b = append(w.b, s.Output...)
	default:
		w.key(`"o64":`)
		w.b = append(w.b, '"')
		w.b = base64.StdEncoding.AppendEncode(w.b, s.Output)
		w.b = append(w.b, '"')
	}
}

// quote appends s as a JSON string.
func (w *writer) quote(s string) {
	w.b = append(w.b, '"')
	if plain(s) {
		w.b = append(append(w.b, s...), '"')
		return
	}
	const hex = "0123456789abcdef"
	for _, r := range Text(s) {
		switch {
		case r == '"' || r == '\\':
			w.b = append(w.b, '\\', byte(r))
		case r < ' ':
			w.b = append(w.b, `\u00`...)
			w.b = append(w.b, hex[r>>4], hex[r&15])
		default:
			w.b = utf8.AppendRune(w.b, r)
		}
	}
	w.b = append(w.b, '"')
}

// plain reports whether s is ASCII that needs no escaping.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
