package cloud_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"triad/shared/cloud/cloudtest"
	"triad/shared/remote"
	"triad/shared/task"
)

func order(id, more string) string {
	return fmt.Sprintf(`{"id": %q, "workflow": "order", "responseQueue": "shop", "order": {"customer": "Ada", "items": [{"sku": "tea", "quantity": 1}], "total": 10}%s}`, id, more)
}

// TestTheFunctionsBringOrdersToTheirEnds: the five functions, made as their main
// packages make them, between real queues and tables.
func TestTheFunctionsBringOrdersToTheirEnds(t *testing.T) {
	t.Parallel()
	d := cloudtest.New(t)
	faults := map[string]remote.Faults{
		"inventory":    {Rules: []remote.Rule{{Match: "late-*", Hang: true, Times: 1}}},
		"payment":      {Rules: []remote.Rule{{Match: "declined-*", Refuse: true}}},
		"notification": {Rules: []remote.Rule{{Match: "unreachable-*", Refuse: true}}},
	}
	for service, f := range faults {
		if err := d.Services.SetFaults(t.Context(), service, f); err != nil {
			t.Fatal(err)
		}
	}
	want := map[task.ID]task.State{}
	for name, state := range map[string]task.State{"good": task.Processed, "late": task.Processed, "declined": task.Compensated, "unreachable": task.Error} {
		for i := range 3 {
			id := task.ID(fmt.Sprintf("%s-%d", name, i))
			want[id] = state
			d.Send(t, "submissions", order(string(id), ""))
		}
	}
	d.Send(t, "submissions", order("good-0", ""), "not JSON", order("nobody-1", `, "responseQueue": "elsewhere"`))
	d.Settle(t, slices.Collect(maps.Keys(want))...)
	got := map[task.ID]task.State{}
	for id := range want {
		found, err := d.Store.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		got[id] = found.State
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ends (-want +got):\n%s\n%s", diff, d.Out.String())
	}
	checkWhatWasTold(t, d)
	checkEffects(t, d)
}

// checkWhatWasTold: notices in the response queue, an alert for each task that
// needs a person, what could not be read in the rejected queue, metrics in the
// log, and the name of each function in its calls.
func checkWhatWasTold(t *testing.T, d *cloudtest.Deployment) {
	t.Helper()
	d.Pump(t, "submissions")
	notices := map[string]bool{}
	for found := d.Receive(t, "shop"); len(found) > 0; found = d.Receive(t, "shop") {
		for _, m := range found {
			var n task.Notice
			if err := json.Unmarshal([]byte(*m.Body), &n); err != nil {
				t.Fatal(err)
			}
			notices[string(n.Task)+" "+n.Status] = true
		}
	}
	for _, n := range []string{"good-1 Received", "good-1 Processed", "declined-2 Compensated", "unreachable-0 Error", "late-0 Processed"} {
		if !notices[n] {
			t.Errorf("nobody was told %s", n)
		}
	}
	reasons := map[string]string{}
	for _, m := range d.Receive(t, "rejected") {
		reasons[*m.Body] = aws.ToString(m.MessageAttributes["Reason"].StringValue)
	}
	if len(reasons) != 2 || reasons["not JSON"] == "" {
		t.Errorf("rejected %v, want two, one of them not JSON", reasons)
	}
	alerts := map[task.ID]bool{}
	for _, text := range d.Published() {
		var a task.Alert
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err)
		}
		alerts[a.Task] = true
	}
	if got, want := slices.Sorted(maps.Keys(alerts)), []task.ID{"unreachable-0", "unreachable-1", "unreachable-2"}; !slices.Equal(got, want) {
		t.Errorf("alerts for %v, want %v", got, want)
	}
	callers := map[string]bool{}
	for _, c := range d.Calls() {
		callers[c.By] = true
	}
	for _, name := range []string{"triad-submission", "triad-scheduler", "triad-supervisor", "triad-agents-http", "triad-agents-payment"} {
		if !callers[name] {
			t.Errorf("no call names %s; there are %v", name, callers)
		}
	}
	for _, metric := range []string{`"TasksProcessed"`, `"Sweeps"`, `"AgentCalls"`} {
		if !strings.Contains(d.Out.String(), metric) {
			t.Errorf("no line has the metric %s", metric)
		}
	}
}

// checkEffects: each service holds one effect of an order, or none when it was
// undone.
func checkEffects(t *testing.T, d *cloudtest.Deployment) {
	t.Helper()
	for _, service := range cloudtest.Agents() {
		effects, err := d.Services.Effects(t.Context(), service)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range effects {
			if e.Applied > 1 || (e.Stands() && strings.HasPrefix(e.ID, "declined")) {
				t.Errorf("%s holds %+v", service, e)
			}
		}
	}
}
