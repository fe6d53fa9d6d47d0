package mutant

// What finds most of them.
var (
	reported = Test{"shared/trigger", "^TestWhatIsReportedAsFailed$"}
)

// ofEdges are bugs in what stands between Triad and the world: Lambda, response
// queues and topics, and the catalog.
var ofEdges = []Mutant{
	{Name: "trigger: a batch without failures is answered with null", Kind: Unprocessed, File: "shared/trigger/messages.go",
		Before: "answer := events.SQSEventResponse{BatchItemFailures: make([]events.SQSBatchItemFailure, 0, len(ids))}",
		After:  "answer := events.SQSEventResponse{}", Test: reported},
	{Name: "trigger: a message is done before it is handled", Kind: Commit, File: "shared/trigger/batch.go",
		Before: "if err := caught(b.log, func() error { return b.handle(ctx, m) }); err != nil {",
		After:  "b.mu.Lock()\n\t\tb.done[i] = true\n\t\tb.mu.Unlock()\n\t\tif err := caught(b.log, func() error { return b.handle(ctx, m) }); err != nil {",
		Test:   reported},
	{Name: "trigger: a panic counts as success", Kind: Swallowed, File: "shared/trigger/invocation.go",
		Before: `err = fmt.Errorf("handler panicked: %v", p)`, After: `_ = fmt.Errorf("handler panicked: %v", p)`, Test: reported},
	{Name: "trigger: what is behind a failed message of its key is handled", Kind: Order, File: "shared/trigger/batch.go",
		Before: "\"behind\", behind)\n\t\t\t}\n\t\t\treturn", After: "\"behind\", behind)\n\t\t\t}\n\t\t\tcontinue", Test: reported},
	{Name: "trigger: without a count of receives, a delivery is the first", Kind: Counting, File: "shared/trigger/messages.go",
		Before: "return 2\n", After: "return 1\n", Test: Test{"shared/trigger", "^TestWhatAHandlerIsGiven$"}},
	{Name: "trigger: a scheduled tick that failed is reported as done", Kind: Swallowed, File: "shared/trigger/ticks.go",
		Before: `return nil, fmt.Errorf("a scheduled tick: %w", err)`, After: `_ = fmt.Errorf("a scheduled tick: %w", err)`, Test: Test{"shared/trigger", "^TestWhatATickComesTo$"}},
	{Name: "outlet: what a batch says it failed to send is not read", Kind: Swallowed, File: "shared/outlet/post.go",
		Before: "answers[aws.ToString(f.Id)] = c.tell(c.meaning(aws.ToString(f.Code), aws.ToString(f.Message)))", After: "answers[aws.ToString(f.Id)] = nil",
		Test: Test{"shared/outlet", "^TestWhatBecomesOfNoticesThatAreRefused$"}},
	{Name: "outlet: a notice that was not sent counts as told", Kind: Swallowed, File: "shared/outlet/notify.go",
		Before: "errs = append(errs, fmt.Errorf(\"telling notice %s: %w\", n.ID, err))", After: "_ = errs",
		Test: Test{"shared/outlet", "^TestWhatBecomesOfNoticesThatAreRefused$"}},
	{Name: "outlet: a rejected message is not kept byte for byte", Kind: Unprocessed, File: "shared/outlet/reject.go",
		Before: "case isText(r.Body):", After: "case len(r.Body) > 0:",
		Test: Test{"shared/outlet", "^TestRejectedMessagesLieInTheQueueAsTheyCame$"}},
	{Name: "catalog: a stored definition may change", Kind: Identity, File: "shared/catalog/catalog.go",
		Before: "\t\t\terr = store.ErrDefined", After: "\t\t\terr = nil",
		Test: Test{"shared/catalog", "^TestTheSameDefinitionIsKeptAgain"}},
	{Name: "catalog: the version read last is the newest", Kind: Identity, File: "shared/catalog/catalog.go",
		Before: "max(c.newest[d.Name], d.Version)", After: "d.Version",
		Test: Test{"shared/catalog", "^TestOlderVersionsAreFoundAfterARestart"}},
	{Name: "catalog: what can't be read just now does not exist", Kind: Swallowed, File: "shared/catalog/catalog.go",
		Before: "return d, false, unread", After: "_ = unread\n\treturn d, false, nil",
		Test: Test{"shared/catalog", "^TestALedgerThatCannotBeRead"}},
}
