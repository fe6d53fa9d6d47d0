// Package function is what Triad's Lambda functions have in common: settings from
// the environment, the way to AWS, logs and metrics, and the engine of the agents.
// The functions that hold an engine with definitions are in package cloud; agents
// are here so that they stay small, and know no table.
package function

import (
	"context"
	"io"
	"io/fs"
	"log/slog"

	"triad/shared/agent"
	"triad/shared/settings"
	"triad/shared/telemetry/emf"
	"triad/shared/trigger"
)

// Environment is what a function finds around it. All fields are required.
type Environment struct {
	// Lookup reads a variable; it is os.LookupEnv.
	Lookup func(name string) (string, bool)
	// Workflows is the directory of definitions that the function comes with.
	Workflows fs.FS
	// Out takes metrics and logs, a line of JSON each; it is os.Stdout.
	Out io.Writer
}

// Function is what every function begins with. It is safe for concurrent use.
type Function struct {
	Environment
	// Name is the function's name after the stack's: scheduler.
	Name     string
	Settings settings.Settings
	// Metrics counts, and writes at the end of each invocation.
	Metrics *emf.Metrics
	Logger  *slog.Logger

	counters *agent.Counters // of its agents, if any
}

// Begin reads the settings of a role, for a function of this name. The error
// names every variable that is missing or malformed.
func Begin(env Environment, role settings.Role, name string) (*Function, error) {
	s, err := settings.Read(role, env.Lookup)
	if err != nil {
		return nil, err
	}
	f := &Function{Environment: env, Settings: s, Name: name, Logger: emf.NewLogger(env.Out, s.LogLevel)}
	metrics := emf.Config{Stack: s.Stack, Function: name, Out: env.Out}
	if role == settings.AgentHTTP || role == settings.AgentGo {
		f.counters = &agent.Counters{}
		metrics.Agents = f.counters.Stats
	}
	f.Metrics = emf.New(metrics)
	return f, nil
}

// Behind is the function behind some queues: handle gets one message. key is as
// in trigger.Config.
func (f *Function) Behind(handle func(context.Context, trigger.Message) error, key func([]byte) string) trigger.Function {
	return trigger.NewMessages(trigger.Config{
		Handle: func(ctx context.Context, m trigger.Message) error {
			f.Metrics.Delivered(1)
			return handle(ctx, m)
		},
		Key: key, After: f.Flush, Logger: f.Logger,
	})
}

// Flush writes what was counted during an invocation.
func (f *Function) Flush(context.Context) {
	if err := f.Metrics.Flush(); err != nil {
		f.Logger.Error("writing metrics", "error", err)
	}
}
