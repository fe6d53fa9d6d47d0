package command

import "context"

type demoCommand struct{}

func (*demoCommand) Run(_ context.Context, _ Env) error { return nil }
