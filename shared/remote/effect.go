package remote

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Effect is what a service knows of one id.
type Effect struct {
	ID string `json:"id"`
	// Calls is how many calls for the id arrived, those hit by a fault included.
	Calls int `json:"calls"`
	// Applied is how often the effect was really applied: once for every
	// Idempotency-Key. More than one is a fault of the caller.
	Applied int `json:"applied"`
	// Created is true once the effect was applied.
	Created bool `json:"created"`
	// Undone is true once the id was deleted, also when there was no effect.
	Undone bool `json:"undone"`
	// Digest identifies the body of the latest PUT that was applied: half of
	// its SHA-256, hexadecimal.
	Digest string `json:"digest,omitempty"`
}

// Stands reports whether the effect is there: created and not undone.
func (e Effect) Stands() bool { return e.Created && !e.Undone }

// Summary counts what happened to a service.
type Summary struct {
	// Effects is how many effects stand now; Undone how many were created and
	// undone; Tombstones how many were undone without having been created.
	Effects    int `json:"effects"`
	Undone     int `json:"undone"`
	Tombstones int `json:"tombstones"`
	// Applied is how often effects were really applied. More than Effects and
	// Undone together is a fault of the callers.
	Applied int `json:"applied"`
	// Calls is how many calls arrived. Among them are Duplicates, which changed
	// nothing because the same had been done before; Refused, answered 4xx; and
	// Failed, answered otherwise or not at all because of a fault.
	Calls      int `json:"calls"`
	Duplicates int `json:"duplicates"`
	Refused    int `json:"refused"`
	Failed     int `json:"failed"`
}

// Summary returns the counters of every service, by name.
func (s *Services) Summary() map[string]Summary {
	all := make(map[string]Summary, len(s.all))
	for name, svc := range s.all {
		all[name] = svc.summary()
	}
	return all
}

// Effects returns what a service knows, by id. It returns an error when there
// is no such service.
func (s *Services) Effects(service string) ([]Effect, error) {
	svc, err := s.named(service)
	if err != nil {
		return nil, err
	}
	return svc.effects(), nil
}

func (s *Services) named(name string) (*service, error) {
	svc, ok := s.all[name]
	if !ok {
		return nil, fmt.Errorf("no service %q: use one of %s", name, strings.Join(Names(), ", "))
	}
	return svc, nil
}

// service is one service.
type service struct {
	name  string
	seed  uint64
	clock func() time.Time

	mu      sync.Mutex
	entries map[string]*entry
	sum     Summary
	faults  []*fault
}

// entry is an effect and the keys under which it was applied.
type entry struct {
	Effect
	keys []string
}

// message is a call as the service understands it.
type message struct{ method, id, key, digest string }

// arrive counts a call and returns the faults that hit it.
func (s *service) arrive(m message) hit {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[m.id]
	if e == nil {
		e = &entry{Effect: Effect{ID: m.id}}
		s.entries[m.id] = e
	}
	e.Calls++
	s.sum.Calls++
	return s.strike(m)
}

// apply does what a call that arrived asks for, and returns the status code.
func (s *service) apply(m message) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[m.id]
	switch m.method {
	case http.MethodPut:
		return s.put(e, m)
	case http.MethodDelete:
		return s.remove(e)
	}
	if blocked(m.id) {
		s.sum.Refused++
		return http.StatusForbidden
	}
	return http.StatusOK
}

func (s *service) put(e *entry, m message) int {
	switch {
	case e.Undone:
		s.sum.Refused++
		return http.StatusGone
	case slices.Contains(e.keys, m.key):
		s.sum.Duplicates++
		return http.StatusNoContent
	}
	code := http.StatusNoContent
	if !e.Created {
		code = http.StatusCreated
		s.sum.Effects++
	}
	e.Created, e.Digest, e.keys = true, m.digest, append(e.keys, m.key)
	e.Applied++
	s.sum.Applied++
	return code
}

func (s *service) remove(e *entry) int {
	switch {
	case e.Undone:
		s.sum.Duplicates++
	case e.Created:
		s.sum.Effects--
		s.sum.Undone++
	default:
		s.sum.Tombstones++
	}
	e.Undone = true
	return http.StatusNoContent
}

// struck counts the answer that a fault gave: a status code, 0 for none.
func (s *service) struck(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if code >= 400 && code < 500 {
		s.sum.Refused++
	} else {
		s.sum.Failed++
	}
}

func (s *service) effect(id string) (Effect, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[id]
	if !ok {
		return Effect{}, false
	}
	return e.Effect, true
}

func (s *service) effects() []Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Effect, 0, len(s.entries))
	for _, e := range s.entries {
		all = append(all, e.Effect)
	}
	slices.SortFunc(all, func(a, b Effect) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func (s *service) summary() Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum
}
