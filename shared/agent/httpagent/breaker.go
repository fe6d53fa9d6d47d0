package httpagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"triad/shared/agent"
)

// breaker is a circuit breaker that tells how long it stays open.
type breaker struct {
	cfg     Config
	circuit *gobreaker.CircuitBreaker[json.RawMessage]
	// until is when an open circuit lets one call through, nanoseconds since
	// the epoch.
	until atomic.Int64
}

func newBreaker(c Config) *breaker {
	b := &breaker{cfg: c}
	b.circuit = gobreaker.NewCircuitBreaker[json.RawMessage](gobreaker.Settings{
		Name:    c.Name,
		Timeout: c.Breaker.Open,
		ReadyToTrip: func(n gobreaker.Counts) bool {
			return n.ConsecutiveFailures >= uint32(c.Breaker.Failures)
		},
		// A refusal is an answer of a healthy service.
		IsSuccessful: func(err error) bool { return err == nil || agent.IsPermanent(err) },
		// A shutdown of ours says nothing about the service.
		IsExcluded:    func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: b.changed,
	})
	return b
}

// changed is called with the circuit locked.
func (b *breaker) changed(name string, from, to gobreaker.State) {
	if to == gobreaker.StateOpen {
		b.until.Store(b.cfg.Clock().Add(b.cfg.Breaker.Open).UnixNano())
		b.cfg.Counters.BreakerOpens.Add(1)
	}
	b.cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn, "circuit breaker changed",
		slog.String("agent", name), slog.String("from", from.String()), slog.String("to", to.String()))
}

// guard makes the call, or says when it may be made.
func (b *breaker) guard(call func() (json.RawMessage, error)) (json.RawMessage, error) {
	out, err := b.circuit.Execute(call)
	switch {
	case errors.Is(err, gobreaker.ErrOpenState):
		// One more millisecond: at the very moment the circuit is still open.
		wait := time.Unix(0, b.until.Load()).Sub(b.cfg.Clock()) + time.Millisecond
		return nil, agent.NotNow(fmt.Errorf("%s is left alone: circuit breaker is open after %d failures in a row",
			b.cfg.Name, b.cfg.Breaker.Failures), max(time.Millisecond, wait))
	case errors.Is(err, gobreaker.ErrTooManyRequests):
		return nil, agent.NotNow(fmt.Errorf("%s is left alone: circuit breaker waits for the answer to one call",
			b.cfg.Name), b.probeTime())
	}
	return out, err
}

// probeTime is how long the one call of a half-open circuit may take.
func (b *breaker) probeTime() time.Duration {
	if b.cfg.Timeout > 0 {
		return min(b.cfg.Timeout, b.cfg.Breaker.Open)
	}
	return b.cfg.Breaker.Open
}
