package mutant

// ofEngines are bugs in what carries the rules out: engine, Submission, Scheduler,
// agents and Supervisor.
var ofEngines = []Mutant{
	{Name: "locks are not given to the commit", Kind: Fence, File: "shared/engine/engine.go",
		Before: "Locks: d.Locks, ",
		After:  ""},
	{Name: "a conflict counts as success", Kind: Commit, File: "shared/engine/engine.go",
		Before: "if err == nil || definite(err)",
		After: `if errors.Is(err, store.ErrConflict) { return nil }
		if err == nil || definite(err)`},
	{Name: "requests are sent before the commit", Kind: Commit, File: "shared/engine/engine.go",
		Before: "	if err := e.commit(ctx, &d, e.Store.Commit); err != nil {",
		After: `	for i := range d.Requests { _ = e.request(ctx, &d.Requests[i]) }
	if err := e.commit(ctx, &d, e.Store.Commit); err != nil {`},
	{Name: "errors of sends are swallowed", Kind: Swallowed, File: "shared/engine/send.go",
		Before: "	if err := errors.Join(errs...); err != nil {",
		After:  "	if err := errors.Join(errs...); false {"},
	{Name: "the index entry is released before the send", Kind: Index, File: "shared/engine/send.go",
		Before: `	var errs []error
`,
		After: `	var errs []error
	if d.Task.Owing && d.Says() {
		_, _ = e.Apply(ctx, d.Task.ID, task.Event{Kind: task.Released, Version: d.Task.Version})
	}
`},
	{Name: "the Supervisor's sends are left out", Kind: Unsaid, File: "shared/supervisor/supervisor.go",
		Before: "		err = e.Send(ctx, d)",
		After:  "		err = nil"},
	{Name: "an agent replies late", Kind: Lateness, File: "shared/agent/agent.go",
		Before: `	if c.late() {
		return a.drop(c)
	}
	if err := ctx.Err()`,
		After: "	if err := ctx.Err()"},
	{Name: "an agent begins work late", Kind: Lateness, File: "shared/agent/agent.go",
		Before: `	if c.late() {
		return a.drop(c)
	}
	res :=`,
		After: "	res :="},
	{Name: "an agent has no doubt after a second call", Kind: Undo, File: "shared/agent/agent.go",
		Before: "doubt: try > 1 || isUnusable(err)",
		After:  "doubt: false"},
	{Name: "an agent has no doubt at a redelivery", Kind: Undo, File: "shared/agent/agent.go",
		Before: "res.doubt = res.doubt || res.outcome == task.FailedPermanently && d.Receives > 1",
		After:  "_ = d.Receives"},
	{Name: "what the Scheduler can't read is dropped", Kind: Unprocessed, File: "shared/scheduler/scheduler.go",
		Before: `		return s.reject(ctx, d, err)
	}
	_, err`,
		After: `		return nil
	}
	_, err`},
	{Name: "other content of the same id is accepted", Kind: Identity, File: "shared/submission/submission.go",
		Before: "if t.OrderHash != sub.Hash() {",
		After:  "if false {"},
	{Name: "a submission is acknowledged before its commit", Kind: Commit, File: "shared/submission/submission.go",
		Before: `	if err != nil {
		return Receipt{}, err
	}
	// If we stop here`,
		After: `	if err != nil {
		return Receipt{Task: d.Task}, nil
	}
	// If we stop here`},
	{Name: "a sweep stops at a bad row", Kind: Isolation, File: "shared/supervisor/supervisor.go",
		Before: `		taken += sw.some(ctx, some)
`,
		After: `		if taken += sw.some(ctx, some); sw.failed.Load() > 0 {
			break
		}
`},
	{Name: "what can't be read was not accepted", Kind: Swallowed, File: "shared/submission/submission.go",
		Before: "return err == nil && t.OrderHash == sub.Hash(), err",
		After:  "return err == nil && t.OrderHash == sub.Hash(), nil"},
	{Name: "lower priorities go first", Kind: Order, File: "shared/supervisor/supervisor.go",
		Before: "return task.HeldShard(first + n)",
		After:  "return task.HeldShard(task.HeldShards - 1 - first - n)",
		Test:   Test{"shared/supervisor", "^TestHigherPrioritiesGoFirst$"}},
	{Name: "the first of those who wait takes all the room", Kind: Isolation, File: "shared/supervisor/supervisor.go",
		Before: "each := max((n-taken)/len(waiting), 1)",
		After:  "each := n - taken",
		Test:   Test{"shared/supervisor", "^TestTenantsShareTheRoom$"}},
	{Name: "the tenant is missing in a request's group", Kind: Isolation, File: "shared/engine/send.go",
		Before: "Group: r.Tenant",
		After:  `Group: ""`},
	{Name: "the tenant is missing in a wake-up's group", Kind: Isolation, File: "shared/engine/send.go",
		Before: ", Group: d.Task.Tenant}",
		After:  "}"},
	{Name: "the send error of a queued submission is swallowed", Kind: Swallowed, File: "shared/submission/submission.go",
		Before: "if err != nil && queued {",
		After:  "if false {"},
	{Name: "the receipt is not said again", Kind: Unsaid, File: "shared/submission/submission.go",
		Before: ", Submission: &sub}",
		After:  "}"},
	{Name: "a recovery that fails is reported as done", Kind: Swallowed, File: "shared/supervisor/supervisor.go",
		Before: "case err != nil:\n\t\tsw.failed.Add(1)",
		After:  "case err != nil:\n\t\tsw.acted.Add(1)",
		Test:   Test{"shared/supervisor", "^Test(BadRows|ARecoveryThatFails)"}},
	{Name: "a repeated write has a new op", Kind: Identity, File: "shared/engine/engine.go",
		Before: "err = write(ctx, change)",
		After:  "change.Task.Op += strconv.Itoa(try)\n\t\terr = write(ctx, change)",
		Test:   Test{"shared/engine", "^TestAWriteWhoseAnswerWasLost"}},
	{Name: "an overtaken write is not said", Kind: Unsaid, File: "shared/engine/engine.go",
		Before: "ev.Redelivery = ev.Redelivery || overtaken",
		After:  "_ = overtaken"},
	{Name: "a heartbeat of an undo is taken for one of the step", Kind: Fence, File: "shared/scheduler/scheduler.go",
		Before: "Kind: task.Extended, Step: x.Step, Undo: x.Undo,", After: "Kind: task.Extended, Step: x.Step,",
		Test: Test{"shared/scheduler", "^TestAHeartbeatMoves"}},
	{Name: "held tasks go on in one shard", Kind: Index, File: "shared/engine/engine.go",
		Before: "ev.By, ev.Shards = e.Instance, e.Shards", After: "ev.By = e.Instance",
		Test: Test{"shared/scheduler", "^TestHeldTasksGoOn"}},
	{Name: "what an operator had done before others is not said", Kind: Unsaid, File: "shared/engine/engine.go",
		Before: "if overtaken && ev.Unsourced && ev.Kind != task.Overdue {",
		After:  "if overtaken && d.Changed && ev.Unsourced && ev.Kind != task.Overdue {"},
	{Name: "what an operator had done before doing it again is not said", Kind: Unsaid, File: "shared/engine/engine.go",
		Before: "if overtaken && ev.Unsourced && ev.Kind != task.Overdue {",
		After:  "if overtaken && !d.Changed && ev.Unsourced && ev.Kind != task.Overdue {",
		Test:   Test{"shared/operator", "^TestWhatWasDoneBeforeOthers"}},
	{Name: "an overtaken write that the client had repeated is not said", Kind: Unsaid, File: "shared/engine/engine.go",
		Before: "if try > 0 && errors.Is(err, store.ErrConflict) {",
		After: `if try == 0 && errors.Is(err, store.ErrConflict) {
			return store.ErrConflict
		}
		if try > 0 && errors.Is(err, store.ErrConflict) {`},
	{Name: "nobody is asked for what a verb starts", Kind: Unsaid, File: "shared/operator/operator.go",
		Before: "if err := o.engine.Send(ctx, d); err != nil {",
		After:  "if err := error(nil); err != nil {"},
	{Name: "nobody is asked for what a submission by a call starts", Kind: Unsaid, File: "shared/submission/submission.go",
		Before: `	err = s.Engine.Send(ctx, d)
`,
		After: `	if queued {
		err = s.Engine.Send(ctx, d)
	}
`},
	{Name: "the Scheduler captures what it can't handle just now", Kind: Unprocessed, File: "shared/scheduler/scheduler.go",
		Before: "if errors.Is(err, store.ErrNotFound) {",
		After:  "if err != nil && d.Receives > 2 || errors.Is(err, store.ErrNotFound) {"},
	{Name: "an agent captures a request that comes once more", Kind: Unprocessed, File: "shared/agent/agent.go",
		Before: `	if err != nil {
		return a.reject(ctx, d.Body, err)
	}
	c := newCall`,
		After: `	if d.Receives > 2 {
		err = errors.New("it was received before")
	}
	if err != nil {
		return a.reject(ctx, d.Body, err)
	}
	c := newCall`},
}
