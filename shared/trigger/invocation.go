package trigger

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// invocation is what both kinds of functions have in common: an end in time, and
// something to do afterwards.
type invocation struct {
	margin time.Duration
	after  func(context.Context)
	log    *slog.Logger
}

func newInvocation(margin time.Duration, after func(context.Context), log *slog.Logger) invocation {
	if margin <= 0 {
		margin = time.Second
	}
	if after == nil {
		after = func(context.Context) {}
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return invocation{margin: margin, after: after, log: log}
}

// logger names the invocation in each line, by the id that Lambda's own lines
// have.
func (v *invocation) logger(ctx context.Context) *slog.Logger {
	if lc, known := lambdacontext.FromContext(ctx); known {
		return v.log.With("requestId", lc.AwsRequestID)
	}
	return v.log
}

// end calls After. A panic in it must not undo what the invocation has done.
func (v *invocation) end(ctx context.Context) {
	log := v.logger(ctx)
	err := caught(log, func() error {
		v.after(ctx)
		return nil
	})
	if err != nil {
		log.Error("ending the invocation", "error", err)
	}
}

// within does work and waits for it until there is no time left; it reports
// whether it has ended. The work's context ends Margin before ctx does, and half
// of Margin later the work is left behind.
func (v *invocation) within(ctx context.Context, work func(context.Context)) bool {
	margin, stop := v.margin, context.CancelFunc(nil)
	if deadline, known := ctx.Deadline(); known {
		margin = min(margin, time.Until(deadline)/2)
		ctx, stop = context.WithDeadline(ctx, deadline.Add(-margin))
	} else {
		ctx, stop = context.WithCancel(ctx)
	}
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work(ctx)
	}()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
	}
	rest := time.NewTimer(margin / 2)
	defer rest.Stop()
	select {
	case <-ended:
		return true
	case <-rest.C:
		return false
	}
}

// caught calls f; a panic is logged, with its stack, and is an error.
func caught(log *slog.Logger, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("handler panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("handler panicked: %v", p)
		}
	}()
	return f()
}
