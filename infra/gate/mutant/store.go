package mutant

// What finds most of them.
var (
	conformsMemory = Test{"shared/store/memstore", "^TestConformance$"}
	conformsSQLite = Test{"shared/store/sqlitestore", "^TestConformance$"}
	conformsDynamo = Test{"shared/store/dynamostore", "^TestConformance$"}
)

// ofStores are bugs in the tables.
var ofStores = []Mutant{
	{Name: "memory: the version is not checked", Kind: Fence, File: "shared/store/memstore/memstore.go",
		Before: "case old.Version != c.Task.Version-1 || !held(old, c.Locks):",
		After:  "case !held(old, c.Locks):", Test: conformsMemory},
	{Name: "memory: locks are not checked", Kind: Fence, File: "shared/store/memstore/memstore.go",
		Before: "case old.Version != c.Task.Version-1 || !held(old, c.Locks):",
		After:  "case old.Version != c.Task.Version-1:", Test: conformsMemory},
	{Name: "memory: an id that is taken is created again", Kind: Identity, File: "shared/store/memstore/memstore.go",
		Before: "err = store.ErrExists", After: "err = nil", Test: conformsMemory},
	{Name: "SQLite: the version is not checked", Kind: Fence, File: "shared/store/sqlitestore/tasks.go",
		Before: "if prev.task.Version != t.Version-1 || !held(&prev.task, next.locks) {",
		After:  "if !held(&prev.task, next.locks) {", Test: conformsSQLite},
	{Name: "SQLite: locks are not checked", Kind: Fence, File: "shared/store/sqlitestore/tasks.go",
		Before: "if prev.task.Version != t.Version-1 || !held(&prev.task, next.locks) {",
		After:  "if prev.task.Version != t.Version-1 {", Test: conformsSQLite},
	{Name: "SQLite: the op of a repeated write is not compared", Kind: Identity, File: "shared/store/sqlitestore/tasks.go",
		Before: "if prev.task.Version == t.Version && prev.task.Op == t.Op {",
		After:  "if prev.task.Version == t.Version {", Test: conformsSQLite},
	{Name: "SQLite: a write is answered before it is committed", Kind: Commit, File: "shared/store/sqlitestore/writer.go",
		Before: "if op.answer, fault = op.apply(w); fault != nil {",
		After:  "op.answer, fault = op.apply(w)\n\t\tif fault == nil {\n\t\t\top.done <- op.answer\n\t\t\top.done = make(chan error, 1)\n\t\t}\n\t\tif fault != nil {",
		Test:   conformsSQLite},
	{Name: "SQLite: what was rolled back stays in memory", Kind: Commit, File: "shared/store/sqlitestore/writer.go",
		Before: "err = translate(w.store.path, err)\n\t} else {",
		After:  "err = translate(w.store.path, err)\n\t}\n\t{",
		Test:   Test{"shared/store/sqlitestore", "^TestAFullStoreRefusesAndKeepsWhatItHas$"}},
	{Name: "DynamoDB: the condition on the version is weaker", Kind: Fence, File: "shared/store/dynamostore/write.go",
		Before: `all := []string{"#v = :v"}`, After: `all := []string{"#v >= :v"}`, Test: conformsDynamo},
	{Name: "DynamoDB: the condition on a lock is dropped", Kind: Fence, File: "shared/store/dynamostore/write.go",
		Before: `return path + ".#l = " + value`,
		After:  `return "(attribute_exists(" + path + ") OR " + path + ".#l = " + value + ")"`, Test: conformsDynamo},
	{Name: "DynamoDB: a lock that must be free may be anybody's", Kind: Fence, File: "shared/store/dynamostore/write.go",
		Before: `free := "attribute_not_exists(" + path + ".#l)"`,
		After:  `free := "(attribute_exists(" + path + ") OR attribute_not_exists(" + path + ".#l))"`, Test: conformsDynamo},
	{Name: "DynamoDB: a lock of a step that there is not is taken for a free one", Kind: Fence, File: "shared/store/dynamostore/write.go",
		Before: `_, known := next.Step(lock.Step); !known {`,
		After:  `_, known := next.Step(lock.Step); !known && lock.LockedBy != "" {`, Test: conformsDynamo},
	{Name: "DynamoDB: an id that is taken is created again", Kind: Identity, File: "shared/store/dynamostore/write.go",
		Before: `"attribute_not_exists(#id) OR #expires < :now"`,
		After:  `"attribute_not_exists(#id) OR attribute_exists(#id) OR #expires < :now"`, Test: conformsDynamo},
	{Name: "DynamoDB: the op in the item that refused a commit is not compared", Kind: Identity, File: "shared/store/dynamostore/dynamostore.go",
		Before: "case own.failed && stored == (write{t.Version, valid(t.Op)}):",
		After:  `case own.failed && stored == (write{t.Version, ""}):`,
		Test:   Test{"shared/store/dynamostore", "^Test(Conformance|EachWriteLostOrAppliedAndReportedAsFailed)$"}},
	{Name: "DynamoDB: a commit that others followed is just a conflict", Kind: Unsaid, File: "shared/store/dynamostore/dynamostore.go",
		Before: "case own.failed && stored.version > t.Version:", After: "case own.failed && stored.version < t.Version:",
		Test: Test{"shared/store/dynamostore", "^TestAWriteThatTheSDKRepeatsAfterAnotherWriter$"}},
	{Name: "DynamoDB: keys that a batch left out are not asked for again", Kind: Swallowed, File: "shared/store/dynamostore/list.go",
		Before: "if keys = out.UnprocessedKeys[s.config.Tasks].Keys; len(keys) > 0 {", After: "if keys = nil; len(keys) > 0 {", Test: Test{"shared/store/dynamostore", "^TestUnprocessedKeysAreAskedForAgain$"}},
}
