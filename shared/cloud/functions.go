package cloud

import (
	"context"

	"triad/shared/function"
	"triad/shared/scheduler"
	"triad/shared/settings"
	"triad/shared/submission"
	"triad/shared/trigger"
)

// begin makes the engine of a function. The error names every variable that is
// missing or malformed, or says what could not be read.
func begin(ctx context.Context, env function.Environment, role settings.Role) (*function.Function, *Cloud, error) {
	f, err := function.Begin(env, role, string(role))
	if err != nil {
		return nil, nil, err
	}
	c, err := New(ctx, Config{
		Settings: f.Settings, AWS: f.AWS(), Workflows: f.Workflows,
		Observer: f.Metrics, Logger: f.Logger,
	})
	return f, c, err
}

// Submission is the function behind the submissions queue.
func Submission(ctx context.Context, env function.Environment) (trigger.Function, error) {
	f, c, err := begin(ctx, env, settings.Submission)
	if err != nil {
		return nil, err
	}
	s := submission.New(submission.Config{
		Engine: c.Engine, Definitions: c.Offers, Rejected: c.Outlet,
		Hold: c.room().hold, ResponseQueue: c.Outlet.Responses.Check,
	})
	return f.Behind(func(ctx context.Context, m trigger.Message) error { return s.Handle(ctx, m.Delivery) }, nil), nil
}

// Scheduler is the function behind the scheduler queue.
func Scheduler(ctx context.Context, env function.Environment) (trigger.Function, error) {
	f, c, err := begin(ctx, env, settings.Scheduler)
	if err != nil {
		return nil, err
	}
	s := scheduler.New(c.Engine, c.Outlet)
	return f.Behind(func(ctx context.Context, m trigger.Message) error { return s.Handle(ctx, m.Delivery) }, scheduler.Key), nil
}
