package httpagent

import (
	"fmt"
	"strconv"
	"strings"
)

// Codes is a range of status codes, both ends included.
type Codes struct{ From, To int }

// ParseCodes reads 404 or 500-599.
func ParseCodes(s string) (Codes, error) {
	first, last, isRange := strings.Cut(s, "-")
	if !isRange {
		last = first
	}
	from, err1 := strconv.Atoi(strings.TrimSpace(first))
	to, err2 := strconv.Atoi(strings.TrimSpace(last))
	if err1 != nil || err2 != nil || from < 100 || to > 599 || from > to {
		return Codes{}, fmt.Errorf("%q is not a code: write a status code (404) or a range (500-599) between 100 and 599", s)
	}
	return Codes{from, to}, nil
}

// String is what ParseCodes reads.
func (c Codes) String() string {
	if c.From == c.To {
		return strconv.Itoa(c.From)
	}
	return fmt.Sprintf("%d-%d", c.From, c.To)
}

// meaning is what a status code says.
type meaning int

const (
	success meaning = iota
	permanent
	transient
)

// meanings has the meaning of each code, for work and for undo.
type meanings [600]meaning

func newMeanings(successes, refusals, failures []Codes) *meanings {
	var m meanings
	for code := range m {
		m[code] = transient
		if code >= 300 && code < 500 && code != 408 && code != 425 && code != 429 {
			m[code] = permanent
		}
	}
	m.set(failures, transient)
	m.set(refusals, permanent)
	m.set(successes, success)
	return &m
}

func (m *meanings) set(ranges []Codes, to meaning) {
	for _, r := range ranges {
		for code := max(0, r.From); code <= r.To && code < len(m); code++ {
			m[code] = to
		}
	}
}

func (m *meanings) of(code int) meaning {
	if code < 0 || code >= len(m) {
		return transient
	}
	return m[code]
}

// checkOverlap refuses a code that two lists name.
func checkOverlap(successes, refusals, failures []Codes) error {
	lists := []struct {
		name   string
		ranges []Codes
	}{{"success", successes}, {"permanent", refusals}, {"transient", failures}}
	for i, a := range lists {
		for _, b := range lists[i+1:] {
			if code, both := overlap(a.ranges, b.ranges); both {
				return fmt.Errorf("code %d is in %s and in %s: leave it in one", code, a.name, b.name)
			}
		}
	}
	return nil
}

func overlap(a, b []Codes) (code int, both bool) {
	for _, x := range a {
		for _, y := range b {
			if from := max(x.From, y.From); from <= min(x.To, y.To) {
				return from, true
			}
		}
	}
	return 0, false
}
