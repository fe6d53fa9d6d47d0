package chaos

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"triad/infra/soak/audit"
	"triad/shared/task"
)

// Report is what a soak came to.
type Report struct {
	Form string `json:"form"`
	Seed uint64 `json:"seed"`
	// Seconds is how long it took, Settled how long from the end of the faults
	// to that of the last order, and Bound how long that might have taken.
	Seconds float64 `json:"seconds"`
	Settled float64 `json:"settled_s"`
	Bound   float64 `json:"bound_s"`
	// Submitted is how many messages were accepted; Again how many submissions
	// were answered that they had been accepted before.
	Submitted int                `json:"submitted"`
	Again     int                `json:"again"`
	Ended     map[task.State]int `json:"ended"`
	// Kills and Freezes count processes, Frozen seconds; Starts counts how often
	// a process was started, where the soak does that, and Faults how often a
	// service began to fail.
	Kills   int     `json:"kills"`
	Freezes int     `json:"freezes"`
	Frozen  float64 `json:"frozen_s"`
	Starts  int     `json:"starts"`
	Faults  int     `json:"faults"`
	// Effects stand at the services, Undone do no more. CallsRepeated of all
	// Calls changed nothing, as the same had been done before.
	Effects       int `json:"effects"`
	Undone        int `json:"undone"`
	Calls         int `json:"calls"`
	CallsRepeated int `json:"calls_repeated"`
	Notices       int `json:"notices"`
	Alerts        int `json:"alerts"`
	Rejected      int `json:"rejected"`
	// ToldAgain is how many notices and alerts came twice under the same id, and
	// Redriven how many dead letters were moved back: both of a cloud only.
	ToldAgain int `json:"told_again,omitzero"`
	Redriven  int `json:"redriven,omitzero"`

	Violations []audit.Violation `json:"violations"`
}

// Print prints a table and what is wrong. again is the command that repeats the
// plan.
func (r *Report) Print(out io.Writer, again string) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(table, "%s\t%s\n", name, fmt.Sprintf(format, args...)) // Flush tells of an error
	}
	row("form", "%s, seed %d, %.0f s", r.Form, r.Seed, r.Seconds)
	row("submitted", "%d (and %d that had been accepted before)", r.Submitted, r.Again)
	for _, state := range slices.Sorted(maps.Keys(r.Ended)) {
		row("ended "+string(state), "%d", r.Ended[state])
	}
	row("kill -9", "%d", r.Kills)
	row("freezes", "%d (%.0f s)", r.Freezes, r.Frozen)
	if r.Starts > 0 {
		row("starts", "%d", r.Starts)
	}
	row("faults of services", "%d", r.Faults)
	row("effects", "%d stand, %d undone", r.Effects, r.Undone)
	row("calls", "%d, %d of them repeats that changed nothing", r.Calls, r.CallsRepeated)
	row("told", "%d notices, %d alerts, %d rejected", r.Notices, r.Alerts, r.Rejected)
	if r.ToldAgain+r.Redriven > 0 {
		row("by the queues", "%d told again, %d dead letters moved back", r.ToldAgain, r.Redriven)
	}
	row("all ended", "%.0f s after the faults (at most %.0f s)", r.Settled, r.Bound)
	row("violations", "%d", len(r.Violations))
	if err := table.Flush(); err != nil {
		return err
	}
	for _, v := range r.Violations {
		if _, err := fmt.Fprintf(out, "VIOLATION  %s  %s: %s\n", v.Rule, v.ID, v.What); err != nil {
			return err
		}
	}
	if len(r.Violations) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(out, "The same plan again (the moments vary): %s\n", again)
	return err
}
