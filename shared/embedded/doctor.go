package embedded

import (
	"context"
	"maps"
	"slices"
	"time"

	"triad/shared/doctor"
)

// settled is how long after a commit the store answers alike from its file and
// from its memory, with much to spare.
const settled = 100 * time.Millisecond

// doctor makes the engine's doctor.
func (e *Engine) doctor() *doctor.Doctor {
	c := e.config.Doctor
	c.Store, c.Workflows, c.Shards, c.Clock = e.config.Store, e.config.Definitions, 1, e.config.Clock
	c.Lag = max(c.Lag, settled)
	c.Agents = slices.AppendSeq([]string{}, maps.Keys(e.config.Agents))
	return doctor.New(c)
}

// examine runs a routine examination every Config.Examine, beside the sweeps: a
// slow one holds up none of them. The first comes after that time, when what a
// stop had left overdue has been recovered.
func (e *Engine) examine(ctx context.Context) error {
	for {
		if err := pause(ctx, e.config.Examine); err != nil {
			return err
		}
		report, err := e.Doctor.Examine(ctx, doctor.Options{})
		if err != nil {
			return err // the context has ended
		}
		e.findings.Store(int64(report.Findings()))
		report.Log(ctx, e.config.Logger)
		if e.config.Examined != nil {
			e.config.Examined(report)
		}
	}
}

// Findings is how many things the last routine examination found wrong.
func (e *Engine) Findings() int { return int(e.findings.Load()) }
