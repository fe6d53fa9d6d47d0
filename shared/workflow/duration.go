package workflow

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Bounds of a duration. Deadlines are kept in milliseconds, so nothing shorter
// can be meant.
const (
	minDuration = time.Millisecond
	maxDuration = 3650 * day
	day         = 24 * time.Hour
)

const wantDuration = "write a duration from 1ms to 3650d, such as 500ms, 30s, 10m, 24h or 7d"

// parseDuration reads Go's syntax with d, a day of 24 hours, as one more unit
// that comes first: 7d, 1d12h, 1.5d, 90s.
func parseDuration(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	}
	n, err := strconv.ParseFloat(days, 64)
	if err != nil || strings.Trim(days, "0123456789.") != "" {
		return 0, fmt.Errorf("%q is not a duration", shorten(text, 40))
	}
	if n > float64(maxDuration/day) {
		return 0, fmt.Errorf("%s is too long", shorten(text, 40))
	}
	total := time.Duration(n * float64(day))
	if rest != "" {
		part, err := time.ParseDuration(rest)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration", shorten(text, 40))
		}
		if part > maxDuration {
			return 0, fmt.Errorf("%s is too long", shorten(text, 40))
		}
		if part < 0 {
			return 0, fmt.Errorf("%s is negative", shorten(text, 40))
		}
		total += part
	}
	switch {
	case total == 0:
		return 0, fmt.Errorf("%s is no time at all", shorten(text, 40))
	case total < minDuration:
		return 0, fmt.Errorf("%s is too short", shorten(text, 40))
	case total > maxDuration:
		return 0, fmt.Errorf("%s is too long", shorten(text, 40))
	}
	return total, nil
}

// brief is a duration without the zeros that Go puts behind it.
func brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
