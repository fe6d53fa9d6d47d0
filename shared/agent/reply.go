package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"triad/shared/task"
)

// maxReason is where the reason of a rejected message is cut, bytes.
const maxReason = 512

// checkOutput compacts an output, and refuses for good what can't be kept: not
// JSON, not UTF-8, or larger than task.MaxOutput. JSON null is no output.
func checkOutput(out json.RawMessage) (json.RawMessage, error) {
	if len(out) == 0 {
		return nil, nil
	}
	if !utf8.Valid(out) {
		return nil, Permanent(fmt.Errorf("output of %d bytes is not valid UTF-8: the agent must return JSON", len(out)))
	}
	var b bytes.Buffer
	b.Grow(len(out))
	if err := json.Compact(&b, out); err != nil {
		return nil, Permanent(fmt.Errorf("output of %d bytes is not valid JSON: %w", len(out), err))
	}
	compact := escapeNoncharacters(b.Bytes())
	if len(compact) > task.MaxOutput {
		return nil, Permanent(fmt.Errorf("output has %d bytes: at most %d are allowed: return a reference instead", len(compact), task.MaxOutput))
	}
	if string(compact) == "null" {
		return nil, nil
	}
	return compact, nil
}

// escapeNoncharacters writes U+FFFE and U+FFFF, which JSON allows as they are
// and queues don't, as JSON escapes.
func escapeNoncharacters(b []byte) []byte {
	if !bytes.Contains(b, []byte("\xef\xbf")) {
		return b
	}
	b = bytes.ReplaceAll(b, []byte("\ufffe"), []byte(`\ufffe`))
	return bytes.ReplaceAll(b, []byte("\uffff"), []byte(`\uffff`))
}

// encodeReply gives what queue.Encode(queue.ToScheduler{Reply: r}) gives, but
// for HTML escapes, in one allocation. r.Output must be valid JSON.
func encodeReply(r *task.Reply) []byte {
	b := make([]byte, 0, 160+len(r.Task)+len(r.Step)+len(r.LockedBy)+len(r.Output)+len(r.Error))
	b = append(b, `{"reply":{"task":`...)
	b = appendString(b, string(r.Task))
	b = append(b, `,"step":`...)
	b = appendString(b, r.Step)
	if r.Undo {
		b = append(b, `,"undo":true`...)
	}
	b = append(b, `,"attempt":`...)
	b = strconv.AppendInt(b, int64(r.Attempt), 10)
	b = append(b, `,"lockedBy":`...)
	b = appendString(b, r.LockedBy)
	b = append(b, `,"outcome":`...)
	b = appendString(b, string(r.Outcome))
	if len(r.Output) > 0 {
		b = append(b, `,"output":`...)
		b = append(b, r.Output...)
	}
	if r.Error != "" {
		b = append(b, `,"error":`...)
		b = appendString(b, r.Error)
	}
	if r.RetryAfterMs != 0 {
		b = append(b, `,"retryAfterMs":`...)
		b = strconv.AppendInt(b, r.RetryAfterMs, 10)
	}
	return append(b, "}}"...)
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

// cutText is an error's text on one line, in valid UTF-8, of at most limit
// bytes, without what queues and logs can't carry.
func cutText(err error, limit int) string {
	// Sprint, and not err.Error(): it survives an error that is a nil pointer.
	s := fmt.Sprint(err)
	s = s[:min(len(s), 4*limit)]
	s = strings.TrimSpace(strings.Map(plain, s))
	for n := limit; len(s) > limit; n-- {
		if utf8.RuneStart(s[n]) {
			s = s[:n]
		}
	}
	if s == "" {
		return "no reason was given"
	}
	return s
}

func plain(r rune) rune {
	switch {
	case unicode.IsControl(r):
		return ' '
	case r == '\ufffe' || r == '\uffff':
		return utf8.RuneError
	}
	return r
}
