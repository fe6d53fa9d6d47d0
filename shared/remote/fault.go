package remote

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
)

// Faults is how a service misbehaves.
type Faults struct {
	// Rules are tried in order. Every rule that hits a call adds its latency;
	// the first that hits and has an answer gives it.
	Rules []Rule `json:"rules"`
}

// Rule is one fault. It has a latency, or an answer (one of Status, Hang, Down,
// Refuse), or both.
type Rule struct {
	// Match selects ids; * stands for any text. Defaults to every id.
	Match string `json:"match,omitempty"`
	// Method selects calls: PUT, DELETE or GET. Defaults to all.
	Method string `json:"method,omitempty"`
	// Share is which part of the calls is hit, above 0 to 1. Which ones depends
	// on the seed, the id, and how many calls of that id came before. Defaults
	// to 1.
	Share float64 `json:"share,omitempty"`
	// Times is how many calls of each id are hit. Zero hits every one.
	Times int `json:"times,omitempty"`
	// ForMs is how long the rule is on, milliseconds. Zero is until it is
	// switched off.
	ForMs int64 `json:"forMs,omitempty"`

	// LatencyMs delays the call before it takes effect, at most a minute.
	LatencyMs int64 `json:"latencyMs,omitempty"`
	// Status is the code to answer, 300 to 599.
	Status int `json:"status,omitempty"`
	// Hang gives no answer until the client leaves, or 30 s.
	Hang bool `json:"hang,omitempty"`
	// Down closes the connection without an answer.
	Down bool `json:"down,omitempty"`
	// Refuse answers 422, a refusal for good.
	Refuse bool `json:"refuse,omitempty"`
	// RetryAfterS is the header Retry-After of the answer, seconds.
	RetryAfterS int `json:"retryAfterS,omitempty"`
	// ApplyFirst has the effect applied all the same: the reply is lost, not
	// the call.
	ApplyFirst bool `json:"applyFirst,omitempty"`
}

// code is the status code of the rule's answer; 0 for none.
func (r *Rule) code() int {
	if r.Refuse {
		return http.StatusUnprocessableEntity
	}
	return r.Status
}

// check says what is wrong with a rule.
func (r *Rule) check() error {
	answers := 0
	for _, is := range []bool{r.Status != 0, r.Hang, r.Down, r.Refuse} {
		if is {
			answers++
		}
	}
	switch {
	case answers > 1:
		return errors.New("has several answers: use one of status, hang, down, refuse")
	case answers == 0 && r.LatencyMs == 0:
		return errors.New("does nothing: use latencyMs, status, hang, down or refuse")
	case r.Method != "" && r.Method != http.MethodPut && r.Method != http.MethodDelete && r.Method != http.MethodGet:
		return fmt.Errorf("method %q: use PUT, DELETE or GET", r.Method)
	case r.Status != 0 && (r.Status < 300 || r.Status > 599):
		return fmt.Errorf("status %d: use 300 to 599", r.Status)
	case r.Share < 0 || r.Share > 1:
		return fmt.Errorf("share %v: use a number above 0, at most 1", r.Share)
	case r.LatencyMs < 0 || r.LatencyMs > 60_000:
		return fmt.Errorf("latencyMs %d: use 0 to 60000", r.LatencyMs)
	case r.Times < 0 || r.ForMs < 0 || r.RetryAfterS < 0:
		return errors.New("times, forMs and retryAfterS must not be negative")
	case r.RetryAfterS > 0 && r.code() == 0:
		return errors.New("retryAfterS needs an answer: add status or refuse")
	case r.ApplyFirst && answers == 0:
		return errors.New("applyFirst needs an answer to lose: add status, hang, down or refuse")
	}
	return nil
}

// SetFaults switches the faults of a service on, in place of those before. It
// returns an error, and changes nothing, when there is no such service or a
// rule makes no sense.
func (s *Services) SetFaults(service string, f Faults) error {
	svc, err := s.named(service)
	if err != nil {
		return err
	}
	set := make([]*fault, len(f.Rules))
	for i, r := range f.Rules {
		if err := r.check(); err != nil {
			return fmt.Errorf("rule %d of %s: %w", i+1, service, err)
		}
		set[i] = &fault{rule: r, since: s.clock(), seen: make(map[string]int), hits: make(map[string]int)}
	}
	svc.mu.Lock()
	svc.faults = set
	svc.mu.Unlock()
	s.log.Info("faults set", slog.String("service", service), slog.Int("rules", len(set)))
	return nil
}

// ClearFaults switches the faults of a service off. It returns an error when
// there is no such service.
func (s *Services) ClearFaults(service string) error { return s.SetFaults(service, Faults{}) }

// Faults returns the rules that are set, by service; services without any are
// left out.
func (s *Services) Faults() map[string]Faults {
	all := make(map[string]Faults)
	for name, svc := range s.all {
		svc.mu.Lock()
		var f Faults
		for _, set := range svc.faults {
			f.Rules = append(f.Rules, set.rule)
		}
		svc.mu.Unlock()
		if len(f.Rules) > 0 {
			all[name] = f
		}
	}
	return all
}
