package audit_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/infra/soak/audit"
	"triad/shared/remote"
	"triad/shared/task"
)

const broken = `{"id": "broken-1"`

// good is evidence of four orders, in which nothing is wrong.
func good() audit.Evidence {
	processed := map[task.State][]string{task.Processed: {"payment", "inventory"}}
	effect := func(id string, undone bool) remote.Effect {
		return remote.Effect{ID: id, Calls: 3, Applied: 1, Created: true, Undone: undone}
	}
	notice := func(id task.ID, status string) audit.Notice {
		return audit.Notice{ID: string(id) + "/" + status, Queue: "shop", Status: status, Task: id}
	}
	return audit.Evidence{
		Orders: []audit.Order{
			{ID: "happy", Queue: "shop", Ends: processed},
			{ID: "silent", Ends: processed},
			{ID: "declined", Queue: "shop", Ends: map[task.State][]string{task.Compensated: nil}},
			{ID: "unreachable", Queue: "shop", Ends: map[task.State][]string{task.Error: {"inventory"}}},
		},
		Fates: map[task.ID]audit.Fate{
			"happy": {State: task.Processed}, "silent": {State: task.Processed},
			"declined": {State: task.Compensated}, "unreachable": {State: task.Error},
		},
		Effects: map[string][]remote.Effect{
			"inventory": {effect("happy", false), effect("silent", false), effect("declined", true), effect("unreachable", false)},
			"payment":   {effect("happy", false), effect("silent", false), {ID: "declined", Calls: 2}},
		},
		Notices: []audit.Notice{
			notice("happy", task.Received), notice("happy", "Processed"),
			notice("declined", task.Received), notice("declined", "Compensated"),
			notice("unreachable", task.Received), notice("unreachable", "Error"),
		},
		Alerts:     []audit.Alert{{ID: "unreachable/alert", Task: "unreachable"}},
		Unreadable: []string{broken}, Rejected: []string{broken},
	}
}

func TestJudgeFindsEachKindOfFault(t *testing.T) {
	t.Parallel()
	type found struct {
		Rule audit.Rule
		ID   string
	}
	for name, c := range map[string]struct {
		spoil func(*audit.Evidence)
		want  []found
	}{
		"nothing": {func(*audit.Evidence) {}, nil},
		"an accepted order is not in the store": {
			func(e *audit.Evidence) { delete(e.Fates, "silent") },
			[]found{{audit.Lost, "silent"}},
		},
		"an order has not ended": {
			func(e *audit.Evidence) { e.Fates["silent"] = audit.Fate{State: task.Processing} },
			[]found{{audit.Stuck, "silent"}},
		},
		"an order ended as it must not": {
			func(e *audit.Evidence) { e.Fates["silent"] = audit.Fate{State: task.Cancelled} },
			[]found{{audit.WrongEnd, "silent"}},
		},
		"an effect counts twice": {
			func(e *audit.Evidence) { e.Effects["payment"][0].Applied = 2 },
			[]found{{audit.Doubled, "happy"}},
		},
		"an effect is missing": {
			func(e *audit.Evidence) { e.Effects["payment"] = e.Effects["payment"][1:] },
			[]found{{audit.Effects, "happy"}},
		},
		"an effect stands for an order that was undone": {
			func(e *audit.Evidence) { e.Effects["inventory"][2].Undone = false },
			[]found{{audit.Effects, "declined"}},
		},
		"an effect stands that the order never had": {
			func(e *audit.Evidence) {
				e.Effects["drones"] = []remote.Effect{{ID: "happy", Applied: 1, Created: true}}
			},
			[]found{{audit.Effects, "happy"}},
		},
		"a service was called for nobody's order": {
			func(e *audit.Evidence) { e.Effects["drones"] = []remote.Effect{{ID: "ghost", Calls: 1}} },
			[]found{{audit.Stranger, "ghost"}},
		},
		"the store has a task that nobody submitted": {
			func(e *audit.Evidence) { e.Fates["ghost"] = audit.Fate{State: task.Processed} },
			[]found{{audit.Stranger, "ghost"}},
		},
		"the receipt is missing": {
			func(e *audit.Evidence) { e.Notices = e.Notices[1:] },
			[]found{{audit.Notices, "happy"}},
		},
		"the notice says another end": {
			func(e *audit.Evidence) { e.Notices[1].Status = "Compensated" },
			[]found{{audit.Notices, "happy"}},
		},
		"the end was told twice, under two ids": {
			func(e *audit.Evidence) {
				e.Notices = append(e.Notices, audit.Notice{ID: "another", Queue: "shop", Status: "Processed", Task: "happy"})
			},
			[]found{{audit.Notices, "happy"}},
		},
		"a notice came twice": {
			func(e *audit.Evidence) { e.Notices = append(e.Notices, e.Notices[0]) },
			[]found{{audit.Notices, "happy/Received"}},
		},
		"a notice came twice, as it may": {
			func(e *audit.Evidence) { e.ToldTwice, e.Notices = true, append(e.Notices, e.Notices[0]) },
			nil,
		},
		"a notice came by another queue": {
			func(e *audit.Evidence) { e.Notices[0].Queue = "fleet" },
			[]found{{audit.Notices, "happy"}},
		},
		"an order in Error has no alert": {
			func(e *audit.Evidence) { e.Alerts = nil },
			[]found{{audit.Alerts, "unreachable"}},
		},
		"an order that is well has an alert": {
			func(e *audit.Evidence) { e.Alerts = append(e.Alerts, audit.Alert{ID: "happy/alert", Task: "happy"}) },
			[]found{{audit.Alerts, "happy"}},
		},
		"an unreadable message is gone": {
			func(e *audit.Evidence) { e.Rejected = nil },
			[]found{{audit.Rejected, broken}},
		},
		"a good message was captured": {
			func(e *audit.Evidence) { e.Rejected = append(e.Rejected, "{}") },
			[]found{{audit.Rejected, "{}"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := good()
			c.spoil(&e)
			var got []found
			for _, v := range audit.Judge(e) {
				got = append(got, found{v.Rule, v.ID})
			}
			if diff := cmp.Diff(c.want, slices.Compact(got)); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}
