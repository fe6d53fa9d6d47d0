package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Fault is one way in which the world misbehaves.
type Fault uint8

// The faults. What has no comment is what its name says.
const (
	// Queues. Duplicates come at once or up to hours later, also after the end
	// of their task.
	QueueDuplicate Fault = iota
	QueueDuplicateLater
	QueueReorder
	QueueDelay
	QueueVanish     // a message that never comes
	QueueVisibility // comes again while its handler is at work
	QueueReceiveRefused
	QueueReceiveLost // received, and the answer is lost
	QueueSendRefused
	QueueSendLost // sent, and the answer is lost
	QueueSendPartial
	QueueDeleteRefused
	QueueDeleteLost
	QueueRedrive // dead letters come back
	QueuePurge   // scheduler and agents lose all messages; redelivery follows

	// The table.
	StoreThrottled
	StoreConflict
	StoreLost       // timed out, without a commit
	StoreApplied    // timed out, with a commit
	StoreLate       // timed out, with a commit some time after the answer
	StoreRepeated   // the SDK sends a write again whose answer was lost, after others maybe
	StoreTooLarge   // near the limit of an item
	StoreFull       // no room
	StoreReadFailed // a load or a query fails
	StoreDamaged    // a record that can't be read, for once
	StorePoisoned   // one record can't be read, for good
	IndexLag        // the index lags by up to a minute, and out of order

	// The outlet.
	OutletRefused
	OutletLost // told, and the answer is lost

	// Compute.
	ComputeKilled        // one handler dies at a port
	ComputeProcessKilled // a whole instance dies at a port
	ComputeFrozen        // a handler stops for minutes, then goes on
	ComputeStopped       // the handler's context ends
	SupervisorAway       // none sweeps for an hour
	VersionBehind        // instances that don't know the newest definitions

	// Time.
	ClockSkew // up to 30 s
	ClockFar  // minutes
	ClockStep // also backwards
	TickMissed
	TickDoubled
	TickLate

	// Agents and their services.
	AgentSilent // no answer before CompleteBy
	AgentSlow   // the effect in time, the answer too late
	AgentTransient
	AgentAnswerLost // the effect is there, the caller sees a failure
	AgentRefused
	AgentRefusedAfter // refused, although an earlier call of the same delivery had its effect
	AgentDown         // fails for minutes
	AgentOtherAnswer  // another output for the same key
	AgentUnusable     // an answer that is no JSON
	AgentPanic
	AgentRetryAfter
	AgentNotNow
	AgentHeartbeat
	AgentBigOutput
	UndoTransient
	UndoRefused

	// Forged messages.
	ForgedToken
	ForgedStep
	ForgedTask
	ForgedHeartbeat
	ForgedReplay        // an old reply again
	ForgedContradiction // another reply under the live token

	// Input.
	InputGarbage     // to submissions, scheduler and agents
	InputConflicting // the same id with other content
	InputRepeated    // the same submission again
	InputLarge
	InputHeld // no room: recorded without a claim

	// Operators, at random moments.
	VerbCancel
	VerbUndo
	VerbResubmit
	VerbPause
	VerbResume
	VerbSignal

	numFaults
)

// fault describes a Fault: its name and the rates of which one is drawn.
type fault struct {
	name  string
	rates []float64
}

// faults has one row for each Fault, in order. A rate is per opportunity (a send,
// a call, a handler's port) or, for mischief, a weight.
var faults = [numFaults]fault{
	QueueDuplicate:      {"queue.duplicate", often},
	QueueDuplicateLater: {"queue.duplicate-later", often},
	QueueReorder:        {"queue.reorder", always},
	QueueDelay:          {"queue.delay", often},
	QueueVanish:         {"queue.vanish", some},
	QueueVisibility:     {"queue.visibility", often},
	QueueReceiveRefused: {"queue.receive-refused", some},
	QueueReceiveLost:    {"queue.receive-lost", some},
	QueueSendRefused:    {"queue.send-refused", some},
	QueueSendLost:       {"queue.send-lost", some},
	QueueSendPartial:    {"queue.send-partial", some},
	QueueDeleteRefused:  {"queue.delete-refused", some},
	QueueDeleteLost:     {"queue.delete-lost", some},
	QueueRedrive:        {"queue.redrive", weight},
	QueuePurge:          {"queue.purge", weight},

	StoreThrottled:  {"store.throttled", some},
	StoreConflict:   {"store.conflict", often},
	StoreLost:       {"store.timeout-lost", some},
	StoreApplied:    {"store.timeout-applied", often},
	StoreLate:       {"store.timeout-late", some},
	StoreRepeated:   {"store.repeated", often},
	StoreTooLarge:   {"store.too-large", rare},
	StoreFull:       {"store.full", rare},
	StoreReadFailed: {"store.read-failed", some},
	StoreDamaged:    {"store.damaged", rare},
	StorePoisoned:   {"store.poisoned", []float64{0.05, 0.2}},
	IndexLag:        {"index.lag", always},

	OutletRefused: {"outlet.refused", often},
	OutletLost:    {"outlet.lost", often},

	ComputeKilled:        {"compute.killed", rare},
	ComputeProcessKilled: {"compute.process-killed", seldom},
	ComputeFrozen:        {"compute.frozen", rare},
	ComputeStopped:       {"compute.stopped", rare},
	SupervisorAway:       {"supervisor.away", certain},
	VersionBehind:        {"version.behind", certain},

	ClockSkew:   {"clock.skew", certain},
	ClockFar:    {"clock.far", some},
	ClockStep:   {"clock.step", weight},
	TickMissed:  {"tick.missed", often},
	TickDoubled: {"tick.doubled", often},
	TickLate:    {"tick.late", often},

	AgentSilent:       {"agent.silent", some},
	AgentSlow:         {"agent.slow", some},
	AgentTransient:    {"agent.transient", often},
	AgentAnswerLost:   {"agent.answer-lost", often},
	AgentRefusedAfter: {"agent.refused-after", often},
	AgentRefused:      {"agent.refused", some},
	AgentDown:         {"agent.down", weight},
	AgentOtherAnswer:  {"agent.other-answer", often},
	AgentUnusable:     {"agent.unusable", rare},
	AgentPanic:        {"agent.panic", rare},
	AgentRetryAfter:   {"agent.retry-after", some},
	AgentNotNow:       {"agent.not-now", some},
	AgentHeartbeat:    {"agent.heartbeat", often},
	AgentBigOutput:    {"agent.big-output", some},
	UndoTransient:     {"undo.transient", often},
	UndoRefused:       {"undo.refused", some},

	ForgedToken:         {"forged.token", weight},
	ForgedStep:          {"forged.step", weight},
	ForgedTask:          {"forged.task", weight},
	ForgedHeartbeat:     {"forged.heartbeat", weight},
	ForgedReplay:        {"forged.replay", weight},
	ForgedContradiction: {"forged.contradiction", weight},

	InputGarbage:     {"input.garbage", weight},
	InputConflicting: {"input.conflicting", some},
	InputRepeated:    {"input.repeated", often},
	InputLarge:       {"input.large", some},
	InputHeld:        {"input.held", often},

	VerbCancel:   {"verb.cancel", weight},
	VerbUndo:     {"verb.undo", weight},
	VerbResubmit: {"verb.resubmit", weight},
	VerbPause:    {"verb.pause", weight},
	VerbResume:   {"verb.resume", weight},
	VerbSignal:   {"verb.signal", weight},
}

// The menus of rates.
var (
	seldom  = []float64{0.0002, 0.001, 0.004}
	rare    = []float64{0.001, 0.004, 0.02}
	some    = []float64{0.005, 0.03, 0.12}
	often   = []float64{0.02, 0.1, 0.4}
	always  = []float64{0.2, 0.6, 1}
	certain = []float64{1}
	weight  = []float64{1, 2, 4}
)

// Faults lists every fault.
func Faults() []Fault {
	all := make([]Fault, numFaults)
	for i := range all {
		all[i] = Fault(i)
	}
	return all
}

// String is the fault's name, as in queue.duplicate.
func (f Fault) String() string {
	if f >= numFaults {
		return fmt.Sprintf("fault %d", uint8(f))
	}
	return faults[f].name
}

// MarshalText gives the name.
func (f Fault) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads a name.
func (f *Fault) UnmarshalText(text []byte) error {
	i := slices.IndexFunc(faults[:], func(d fault) bool { return d.name == string(text) })
	if i < 0 {
		return fmt.Errorf("there is no fault %q", text)
	}
	*f = Fault(i)
	return nil
}

// rates is how often each fault strikes; 0 is never.
type rates [numFaults]float64

// drawRates enables a random subset: none at all in one of twelve runs, and
// between a few and most of them in the others.
func drawRates(rng *rand.Rand) (r rates) {
	share := []float64{0, 0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.3, 0.4, 0.4, 0.5, 0.6}[rng.IntN(12)]
	for i, d := range faults {
		on, rate := rng.Float64() < share, d.rates[rng.IntN(len(d.rates))]
		if on {
			r[i] = rate
		}
	}
	return r
}
