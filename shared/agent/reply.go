package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
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
		return nil, Unusable(fmt.Errorf("output of %d bytes is not valid UTF-8: the agent must return JSON", len(out)))
	}
	var b bytes.Buffer
	b.Grow(len(out))
	if err := json.Compact(&b, out); err != nil {
		return nil, Unusable(fmt.Errorf("output of %d bytes is not valid JSON: %w", len(out), err))
	}
	compact := task.Escaped(b.Bytes())
	if len(compact) > task.MaxOutput {
		return nil, Unusable(fmt.Errorf("output has %d bytes: at most %d are allowed: return a reference instead", len(compact), task.MaxOutput))
	}
	if string(compact) == "null" {
		return nil, nil
	}
	return compact, nil
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
