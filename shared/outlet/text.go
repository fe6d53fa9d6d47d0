package outlet

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"triad/shared/queue/refusal"
	"triad/shared/task"
)

// isText reports that SQS carries a body as it is.
func isText(body []byte) bool {
	illegal := func(r rune) bool { return !refusal.Carries(r) }
	return len(body) > 0 && utf8.Valid(body) && !strings.ContainsFunc(string(body), illegal)
}

// legalJSON is JSON in characters that SQS takes. What it does not take can only
// be in a string, where JSON has an escape for it.
func legalJSON(body []byte) string {
	return string(task.Escaped(bytes.ToValidUTF8(body, []byte("\uFFFD"))))
}

// clean is a text in at most so many bytes, all of it valid UTF-8 and legal; the
// end of one that is cut shows that.
func clean(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if !refusal.Carries(r) {
			return utf8.RuneError
		}
		return r
	}, s) // bytes that are no UTF-8 are RuneError already
	if len(s) <= most {
		return s
	}
	end := most - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// maxSubject is how long the subject of an alert is at most: SNS wants less than
// 100 characters.
const maxSubject = 99

// subject is a text as SNS takes it for a subject: one line of printable ASCII
// that does not begin with a space. What is not ASCII becomes a question mark.
func subject(s string) string {
	s = strings.Map(func(r rune) rune {
		if r > '~' {
			return '?'
		}
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxSubject {
		s = s[:maxSubject-len("...")] + "..."
	}
	return s
}
