// Package audit holds what came of orders against what was submitted: that each
// ended as it may, that its effects count once, that none stands for what was
// undone, and that the application and the operators were told, once.
//
// It is a pure function of its evidence, so that each kind of fault can be shown
// to it.
package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/shared/remote"
	"triad/shared/task"
)

// Order is an order that was accepted.
type Order struct {
	ID task.ID
	// Queue is the response queue that it named; empty for none.
	Queue string
	// Ends has the states that it may end in, each with the services that must
	// then hold an effect of it. No other may.
	Ends map[task.State][]string
}

// Fate is what became of an order.
type Fate struct {
	State task.State
	// Reason says why, when it failed.
	Reason string
}

// Notice is what an application was told; Queue is where.
type Notice struct {
	ID, Queue, Status string
	Task              task.ID
}

// Alert is what operators were told.
type Alert struct {
	ID   string
	Task task.ID
}

// Evidence is all that there is to judge by.
type Evidence struct {
	Orders []Order
	// Fates are the tasks that the store has.
	Fates map[task.ID]Fate
	// Effects are what each service knows, by its name.
	Effects map[string][]remote.Effect
	Notices []Notice
	Alerts  []Alert
	// Unreadable are the messages that nobody can accept and that were sent;
	// Rejected those that were captured.
	Unreadable, Rejected []string
	// ToldTwice: a notice, an alert or a captured message may come twice, as from
	// queues of AWS, if it is the same.
	ToldTwice bool
}

// Rule names what was broken.
type Rule string

// The rules.
const (
	Lost     Rule = "lost"      // accepted, and not in the store
	Stuck    Rule = "stuck"     // has not ended
	WrongEnd Rule = "wrong end" // ended as it must not
	Doubled  Rule = "doubled"   // an effect counts more than once
	Effects  Rule = "effects"   // an effect is missing, or stands and must not
	Stranger Rule = "stranger"  // something that nobody ordered
	Notices  Rule = "notices"   // the application was not told, or told otherwise
	Alerts   Rule = "alerts"    // operators were not told, or told without cause
	Rejected Rule = "rejected"  // an unreadable message is gone, or a good one captured
	Health   Rule = "health"    // what the doctor found
	Process  Rule = "process"   // a process did what nobody asked of it
	Refused  Rule = "refused"   // a good submission was refused, or a bad one accepted
)

// Violation is one thing that is not as it must be.
type Violation struct {
	Rule Rule `json:"rule"`
	// ID is the order, or whatever else it is about.
	ID   string `json:"id"`
	What string `json:"what"`
}

// Judge returns all that is wrong, in the order of the rules' names and ids.
func Judge(e Evidence) []Violation {
	j := &judge{Evidence: e, orders: map[task.ID]Order{}}
	for _, o := range e.Orders {
		j.orders[o.ID] = o
	}
	holds := j.effects()
	for _, o := range e.Orders {
		j.order(o, holds[o.ID])
	}
	for id, f := range e.Fates {
		if _, ours := j.orders[id]; !ours {
			j.wrong(Stranger, string(id), "the store has a task (%s) that nobody submitted", f.State)
		}
	}
	j.notices()
	j.alerts()
	j.rejected()
	slices.SortFunc(j.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.ID, b.ID), cmp.Compare(a.What, b.What))
	})
	return j.found
}

// judge collects what is wrong.
type judge struct {
	Evidence
	orders map[task.ID]Order
	found  []Violation
}

func (j *judge) wrong(rule Rule, id, format string, args ...any) {
	j.found = append(j.found, Violation{Rule: rule, ID: id, What: fmt.Sprintf(format, args...)})
}

// effects finds effects that count twice or belong to nobody, and returns which
// services hold one, by order.
func (j *judge) effects() map[task.ID][]string {
	holds := map[task.ID][]string{}
	for _, service := range slices.Sorted(maps.Keys(j.Effects)) {
		for _, e := range j.Effects[service] {
			id := task.ID(e.ID)
			if _, ours := j.orders[id]; !ours {
				j.wrong(Stranger, e.ID, "%s was called for an order that nobody submitted", service)
			}
			if e.Applied > 1 {
				j.wrong(Doubled, e.ID, "%s applied it %d times", service, e.Applied)
			}
			if e.Stands() {
				holds[id] = append(holds[id], service)
			}
		}
	}
	return holds
}

// order judges the end of an order, and its effects.
func (j *judge) order(o Order, holds []string) {
	fate, found := j.Fates[o.ID]
	want, may := o.Ends[fate.State]
	want = slices.Sorted(slices.Values(want))
	switch {
	case !found:
		j.wrong(Lost, string(o.ID), "it was accepted, and the store does not have it")
	case !fate.State.Finished():
		j.wrong(Stuck, string(o.ID), "it is %s still", fate.State)
	case !may:
		j.wrong(WrongEnd, string(o.ID), "it is %s and may end %s: %s", fate.State, list(slices.Sorted(maps.Keys(o.Ends))), fate.Reason)
	case !slices.Equal(holds, want):
		j.wrong(Effects, string(o.ID), "it is %s and has effects at %v, and must have them at %v", fate.State, holds, want)
	}
}

// notices: an order that named a queue has one notice that it was received, and
// one of its end, there and nowhere else.
func (j *judge) notices() {
	told := map[task.ID]map[string]int{}
	for id, n := range j.once(len(j.Notices), func(i int) string { return j.Notices[i].ID }) {
		notice := j.Notices[n]
		o, ours := j.orders[notice.Task]
		switch {
		case !ours:
			j.wrong(Stranger, string(notice.Task), "notice %s is of a task that nobody submitted", id)
		case notice.Queue != o.Queue:
			j.wrong(Notices, string(o.ID), "notice %s came by queue %q, and must by %q", id, notice.Queue, o.Queue)
		}
		if told[notice.Task] == nil {
			told[notice.Task] = map[string]int{}
		}
		told[notice.Task][notice.Status]++
	}
	for _, o := range j.Orders {
		fate, found := j.Fates[o.ID]
		if o.Queue == "" || !found || !fate.State.Finished() {
			continue
		}
		want := map[string]int{task.Received: 1, string(fate.State): 1}
		if got := told[o.ID]; !maps.Equal(got, want) {
			j.wrong(Notices, string(o.ID), "it is %s, and the application was told %v", fate.State, got)
		}
	}
}

// alerts: one for each order in Error, and no other.
func (j *judge) alerts() {
	told := map[task.ID]int{}
	for _, n := range j.once(len(j.Alerts), func(i int) string { return j.Alerts[i].ID }) {
		told[j.Alerts[n].Task]++
	}
	for id, n := range told {
		if j.Fates[id].State != task.Error {
			j.wrong(Alerts, string(id), "operators had %d alerts, and it is %q", n, j.Fates[id].State)
		}
	}
	for id, f := range j.Fates {
		if f.State == task.Error && told[id] != 1 {
			j.wrong(Alerts, string(id), "it is in Error, and operators had %d alerts", told[id])
		}
	}
}

// once returns the number of one of the things told under each id. Where nothing
// may come twice, what does is wrong.
func (j *judge) once(n int, id func(int) string) map[string]int {
	first := map[string]int{}
	for i := range n {
		if _, again := first[id(i)]; again && !j.ToldTwice {
			j.wrong(Notices, id(i), "it was told twice")
		}
		first[id(i)] = i
	}
	return first
}

// rejected: each unreadable message was captured, and nothing else. One that got
// no answer was sent again, and may be there twice.
func (j *judge) rejected() {
	for _, body := range j.Unreadable {
		if !slices.Contains(j.Rejected, body) {
			j.wrong(Rejected, body, "it was taken, is unreadable, and was not captured")
		}
	}
	for _, body := range j.Rejected {
		if !slices.Contains(j.Unreadable, body) {
			j.wrong(Rejected, body, "it was captured, and is not unreadable")
		}
	}
}

func list(states []task.State) string {
	words := make([]string, len(states))
	for i, s := range states {
		words[i] = string(s)
	}
	return strings.Join(words, " or ")
}
