package settings_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/settings"
)

// complete is an environment in which every role can start.
func complete() map[string]string {
	return map[string]string{
		"AWS_REGION":           "eu-west-1",
		settings.Stack:         "shop",
		settings.TasksTable:    "shop-Tasks-1X",
		settings.OrdersTable:   "shop-Orders-2Y",
		settings.Shards:        "16",
		settings.KeepDays:      "90",
		settings.AlertsTopic:   "arn:aws:sns:eu-west-1:123456789012:shop-alerts",
		settings.SweepSeconds:  "15",
		settings.Backlog:       "2000",
		settings.Agents:        "inventory, payment,",
		"AWS_LAMBDA_LOG_LEVEL": "INFO",

		settings.SchedulerQueue: "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-scheduler",
		settings.ResponseQueues: "",
	}
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, found := env[name]; return v, found }
}

var roles = []settings.Role{settings.Submission, settings.Scheduler, settings.Supervisor, settings.AgentHTTP, settings.AgentGo}

func TestASupervisorReadsAll(t *testing.T) {
	t.Parallel()
	got, err := settings.Read(settings.Supervisor, lookup(complete()))
	want := settings.Settings{
		Stack: "shop", Region: "eu-west-1", LogLevel: "INFO", TasksTable: "shop-Tasks-1X", OrdersTable: "shop-Orders-2Y",
		Shards: 16, Keep: 90 * 24 * time.Hour, SchedulerQueue: "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-scheduler",
		Agents: []string{"inventory", "payment"}, AlertsTopic: "arn:aws:sns:eu-west-1:123456789012:shop-alerts",
		Sweep: 15 * time.Second, Backlog: 2000,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("(-want +got)\n%s%v", diff, err)
	}
	if got, want := got.Queue("agent-payment"), "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-agent-payment"; got != want {
		t.Errorf("the queue of payment is %s, want %s", got, want)
	}
}

func TestARoleStartsWithWhatItNeedsAlone(t *testing.T) {
	t.Parallel()
	for _, role := range roles {
		env := map[string]string{"AWS_REGION": "eu-west-1"}
		for _, name := range settings.Needs(role) {
			env[name] = complete()[name]
		}
		if _, err := settings.Read(role, lookup(env)); err != nil {
			t.Errorf("%s: %v", role, err)
		}
	}
}

func TestEveryMissingVariableIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	for _, role := range roles {
		_, err := settings.Read(role, lookup(nil))
		if err == nil {
			t.Fatalf("%s starts with nothing", role)
		}
		for _, name := range append(settings.Needs(role), "AWS_REGION") {
			if !strings.Contains(err.Error(), name+" is missing: it should be ") {
				t.Errorf("%s: %v\ndoes not tell that %s is missing", role, err, name)
			}
		}
	}
}

func TestAMalformedVariableIsNamedWithWhatItShouldBe(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ name, value, want string }{
		"a number that is none":      {settings.Shards, "many", `TRIAD_SHARDS is "many": it should be a whole number from 1 to 256`},
		"too few shards":             {settings.Shards, "0", "from 1 to 256"},
		"too many shards":            {settings.Shards, "257", "from 1 to 256"},
		"a sweep below 5 s":          {settings.SweepSeconds, "4", "from 5 to 60"},
		"a negative backlog":         {settings.Backlog, "-1", "from 0 to"},
		"negative days":              {settings.KeepDays, "-1", "from 0 to"},
		"a queue that is no URL":     {settings.SchedulerQueue, "shop-scheduler", "the URL of the scheduler queue"},
		"the URL of another queue":   {settings.SchedulerQueue, "https://sqs.eu-west-1.amazonaws.com/1/shop-submissions", "the URL of the scheduler queue"},
		"a table with an empty name": {settings.TasksTable, "", "TRIAD_TASKS_TABLE is missing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := maps.Clone(complete())
			env[tt.name] = tt.value
			_, err := settings.Read(settings.Supervisor, lookup(env))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Count(err.Error(), "TRIAD_") != 1 {
				t.Errorf("got %v, want it to tell %q and nothing else", err, tt.want)
			}
		})
	}
}
