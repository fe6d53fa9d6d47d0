package remote

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// fault is a rule that is on; the service's lock guards it.
type fault struct {
	rule  Rule
	since time.Time
	seen  map[string]int // calls by id, for Share
	hits  map[string]int // calls hit by id, for Times
}

// hit is what faults do to a call: a latency, and perhaps an answer.
type hit struct {
	latency time.Duration
	rule    *Rule
}

// strike goes through the faults; the service's lock must be held.
func (s *service) strike(m message) hit {
	var h hit
	for i, f := range s.faults {
		if !f.strikes(m, s.clock()) || !f.shares(s.seed, s.name, i, m.id) {
			continue
		}
		if f.rule.Times > 0 {
			f.hits[m.id]++
		}
		h.latency += time.Duration(f.rule.LatencyMs) * time.Millisecond
		if f.rule.code() != 0 || f.rule.Hang || f.rule.Down {
			h.rule = &f.rule
			return h
		}
	}
	return h
}

func (f *fault) strikes(m message, now time.Time) bool {
	r := &f.rule
	return (r.Method == "" || r.Method == m.method) &&
		(r.Match == "" || matches(r.Match, m.id)) &&
		(r.ForMs == 0 || now.Sub(f.since) < time.Duration(r.ForMs)*time.Millisecond) &&
		(r.Times == 0 || f.hits[m.id] < r.Times)
}

// shares draws the lot of a call.
func (f *fault) shares(seed uint64, service string, rule int, id string) bool {
	if f.rule.Share == 0 || f.rule.Share == 1 {
		return true
	}
	f.seen[id]++
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s/%d/%s/%d", seed, service, rule, id, f.seen[id])
	return float64(mix(h.Sum64())>>11)/(1<<53) < f.rule.Share
}

// mix spreads a hash over all bits (the finaliser of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// matches reports whether s fits pattern, in which * stands for any text.
func matches(pattern, s string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, head)
	if !ok {
		return false
	}
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(s, part)
		}
		_, s, ok = strings.Cut(s, part)
		if !ok {
			return false
		}
		rest = after
	}
}
