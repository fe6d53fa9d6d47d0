package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Print writes the outcome for people, and what to try next: a command each.
func (o *Outcome) Print(w io.Writer, next ...string) error {
	p := &printer{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	p.line("\nSAMPLE\tORDERS\tEND\tAS IT MUST\tATTEMPTS OF STEPS\tSLOWEST\tWHAT HAPPENED")
	for _, g := range o.Groups {
		p.line("%s\t%d\t%s\t%d\t%d\t%.1f s\t%s", g.Name, g.Count, g.Ends, g.AsExpected, g.Attempts, g.Slowest, g.About)
	}
	p.line("\nSERVICE\tCALLS\tEFFECTS\tUNDONE\tREPEATS ABSORBED\tREFUSED\tFAILED")
	for _, name := range holders() {
		s := o.Services[name]
		p.line("%s\t%d\t%d\t%d\t%d\t%d\t%d", name, s.Calls, s.Effects, s.Undone, s.Duplicates, s.Refused, s.Failed)
	}
	p.flush()
	p.line("\n%d submissions, %d of them repeated: %d tasks. %d notices sent. Effects applied twice: %d.",
		o.Submitted, o.Again, o.Tasks, o.Notices, len(o.Doubled))
	p.line("\nRejected messages (%d):", len(o.Rejected))
	for _, r := range o.Rejected {
		p.line("  %d  %s", r.Seq, r.Reason)
	}
	p.line("\nAlerts (%d):", len(o.Alerts))
	for _, a := range o.Alerts {
		p.line("  %s", a.Subject)
	}
	o.verdict(p)
	p.line("\nTry next:\n")
	for _, command := range next {
		p.line("  %s", command)
	}
	p.flush()
	return p.err
}

func (o *Outcome) verdict(p *printer) {
	for _, wrong := range append(slices.Clone(o.Wrong), o.Doubled...) {
		p.line("WRONG: %s", wrong)
	}
	if len(o.Wrong)+len(o.Doubled) == 0 {
		p.line("\nEvery order ended as it must, in %.0f s.", o.Seconds)
	}
}

// printer remembers the first error, so that a report is a list of lines.
type printer struct {
	w   *tabwriter.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, strings.TrimRight(fmt.Sprintf(format, args...), " "))
	}
}

func (p *printer) flush() {
	if err := p.w.Flush(); p.err == nil {
		p.err = err
	}
}
