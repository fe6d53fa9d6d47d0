// Package settings reads the environment of a function: variables become typed,
// checked values, and everything that is missing or malformed is told at once,
// by name. template.yaml sets the variables; no other package reads them.
package settings

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The variables of Triad.
const (
	Stack          = "TRIAD_STACK"
	TasksTable     = "TRIAD_TASKS_TABLE"
	OrdersTable    = "TRIAD_ORDERS_TABLE"
	Shards         = "TRIAD_SHARDS"
	KeepDays       = "TRIAD_KEEP_DAYS"
	SchedulerQueue = "TRIAD_SCHEDULER_QUEUE"
	Agents         = "TRIAD_AGENTS"
	ResponseQueues = "TRIAD_RESPONSE_QUEUES"
	AlertsTopic    = "TRIAD_ALERTS_TOPIC"
	SweepSeconds   = "TRIAD_SWEEP_SECONDS"
	Backlog        = "TRIAD_BACKLOG"
)

// The variables that Lambda sets itself, or that the SDK knows.
const (
	region   = "AWS_REGION"
	endpoint = "AWS_ENDPOINT_URL"
	logLevel = "AWS_LAMBDA_LOG_LEVEL"
)

// Role is a part of the pattern that runs as a function.
type Role string

// The roles. AgentHTTP is every agent that agents.yaml describes; AgentGo an
// agent with a function of its own.
const (
	Submission Role = "submission"
	Scheduler  Role = "scheduler"
	Supervisor Role = "supervisor"
	AgentHTTP  Role = "agents-http"
	AgentGo    Role = "agents-go"
)

// Needs lists the variables of Triad that a role needs.
func Needs(r Role) []string {
	engine := []string{Stack, TasksTable, OrdersTable, Shards, KeepDays, SchedulerQueue, Agents, ResponseQueues, AlertsTopic}
	switch r {
	case Submission:
		return append(engine, Backlog)
	case Scheduler:
		return engine
	case Supervisor:
		return append(engine, SweepSeconds, Backlog)
	case AgentHTTP:
		return []string{Stack, SchedulerQueue, Agents}
	case AgentGo:
		return []string{Stack, SchedulerQueue}
	}
	return nil
}

// Settings are the values. Those that a role does not need are zero.
type Settings struct {
	// Stack is the deployment's name; names of its queues begin with it.
	Stack string
	// Region is the AWS region. Endpoint is where a stand-in of AWS listens;
	// empty means AWS.
	Region, Endpoint string
	// LogLevel is DEBUG, INFO, WARN or ERROR; empty for the default.
	LogLevel string
	// TasksTable and OrdersTable are names of tables.
	TasksTable, OrdersTable string
	// Shards is the number of shards of the CompleteBy index, 1 to 256.
	Shards int
	// Keep is how long finished tasks are kept; 0 for ever.
	Keep time.Duration
	// SchedulerQueue is the URL of the scheduler queue.
	SchedulerQueue string
	// Agents are the names of the agents of the deployment.
	Agents []string
	// ResponseQueues are the ARNs of the queues that notices may go to.
	ResponseQueues []string
	// AlertsTopic is the ARN of the topic for alerts.
	AlertsTopic string
	// Sweep is the Supervisor's period, 5 s to 60 s.
	Sweep time.Duration
	// Backlog is how many requests may wait in one agent's queue before new
	// tasks are held back; 0 for no limit.
	Backlog int
}

// Queue is the URL of a queue of the deployment, by the word of the design:
// it differs from that of the scheduler queue in its last word only.
func (s Settings) Queue(name string) string {
	return strings.TrimSuffix(s.SchedulerQueue, "scheduler") + name
}

// Read reads the variables that a role needs. lookup is os.LookupEnv. The error
// joins one line for each variable that is missing or malformed, with its name
// and what it should be.
func Read(r Role, lookup func(string) (string, bool)) (Settings, error) {
	read := reader{lookup: lookup, needs: Needs(r)}
	s := Settings{
		Stack:          read.text(Stack, "the stack's name"),
		TasksTable:     read.text(TasksTable, "the name of the table Tasks"),
		OrdersTable:    read.text(OrdersTable, "the name of the table Orders"),
		Shards:         read.whole(Shards, 1, 256),
		Keep:           time.Duration(read.whole(KeepDays, 0, 36_500)) * 24 * time.Hour,
		SchedulerQueue: read.queue(SchedulerQueue),
		Agents:         read.list(Agents),
		ResponseQueues: read.list(ResponseQueues),
		AlertsTopic:    read.text(AlertsTopic, "the ARN of the topic for alerts"),
		Sweep:          time.Duration(read.whole(SweepSeconds, 5, 60)) * time.Second,
		Backlog:        read.whole(Backlog, 0, 1_000_000),
	}
	read.needs = append(read.needs, region)
	s.Region = read.text(region, "the AWS region, as Lambda sets it")
	s.Endpoint, _ = lookup(endpoint)
	s.LogLevel, _ = lookup(logLevel)
	if len(read.faults) > 0 {
		return Settings{}, fmt.Errorf("the %s function can't start, its environment is wrong; template.yaml sets these:\n%w", r, errors.Join(read.faults...))
	}
	return s, nil
}

// reader reads what is needed and collects what is wrong.
type reader struct {
	lookup func(string) (string, bool)
	needs  []string
	faults []error
}

// value is a variable's text, and whether there is one to read on.
func (r *reader) value(name, should string) (string, bool) {
	if !slices.Contains(r.needs, name) {
		return "", false
	}
	v, found := r.lookup(name)
	if !found || v == "" {
		r.faults = append(r.faults, fmt.Errorf("%s is missing: it should be %s", name, should))
		return "", false
	}
	return v, true
}

func (r *reader) text(name, should string) string {
	v, _ := r.value(name, should)
	return v
}

func (r *reader) whole(name string, least, most int) int {
	should := fmt.Sprintf("a whole number from %d to %d", least, most)
	v, found := r.value(name, should)
	if !found {
		return 0
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		r.faults = append(r.faults, fmt.Errorf("%s is %q: it should be %s", name, v, should))
	}
	return n
}

func (r *reader) queue(name string) string {
	const should = "the URL of the scheduler queue, as https://sqs.REGION.amazonaws.com/ACCOUNT/STACK-scheduler"
	v, found := r.value(name, should)
	if !found {
		return ""
	}
	if u, err := url.Parse(v); err != nil || u.Host == "" || !strings.HasSuffix(u.Path, "-scheduler") {
		r.faults = append(r.faults, fmt.Errorf("%s is %q: it should be %s", name, v, should))
	}
	return v
}

// list reads words between commas; it may be empty, but must be there.
func (r *reader) list(name string) []string {
	if !slices.Contains(r.needs, name) {
		return nil
	}
	v, found := r.lookup(name)
	if !found {
		r.faults = append(r.faults, fmt.Errorf("%s is missing: it should be a list with commas, or empty", name))
	}
	var all []string
	for word := range strings.SplitSeq(v, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}
