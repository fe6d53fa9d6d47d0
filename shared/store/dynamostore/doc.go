// Package dynamostore is the store on AWS: two DynamoDB tables, one item for each
// task. It implements store.Store, and the part of store.Ledger that keeps
// definitions.
//
// # The tables
//
// Tasks has the partition key TaskID and the sort key Part. The item "task" is
// the record: the task and all of its steps, so that ending a step and claiming
// the next is one conditional write. Items "output/STEP" beside it hold outputs
// larger than task.InlineOutput. Under the TaskID "/definitions", which no task
// can have, there is an item for each definition. Orders has the key TaskID and
// holds the orders, which never change. The index CompleteBy of Tasks has the key
// Shard and CompleteBy; CreateTables says all of this to DynamoDB.
//
// # How it writes
//
// Create is one transaction of order and task. Commit is one PutItem under a
// condition; only with a new large output, or when the items beside the record
// begin or cease to expire, is it a transaction. Every write asks for the stored
// item where the condition fails: the SDK repeats calls whose answer was lost,
// and a write that finds its own op stored has succeeded. Nothing is ever locked.
//
// A task item of up to 1,024 bytes (see Size) costs 1 write unit a commit. The
// index costs 1 at the creation, 1 at the end, and 2 when CompleteBy moves: an
// order of five steps costs 11. It stays within 1,024 bytes whatever happens to
// it, as long as the texts that tell of failures have 96 bytes each, or up to
// task.MaxError and no undo fails; while an undo fails as well it may reach some
// 1,200 bytes, and then each write costs a unit more.
//
// # What is kept, and how long
//
// With Config.Keep a task that was Processed, Compensated or Cancelled, and owes
// nothing, expires Keep after its end. Its order and large outputs expire 30 days
// after that or, when it ended before its deadline, Keep and 30 days after the
// deadline: so they are written with their Expires at the creation, and the end
// of the task costs no more than that of one that is kept for ever. DynamoDB
// deletes what has expired within days.
//
// Nothing of a task expires while it is in Error. The order and the outputs of an
// unfinished one have no Expires either once it goes on beyond its deadline. These
// tasks pay for it, 4 write units each time that what is beside the record begins
// or ceases to expire. Before its deadline every task is in the index to be looked
// at by then: only one that nobody could look at for Keep and 30 days after its
// deadline, because the Supervisor had stopped or its definition was missing,
// loses its order, and is store.ErrDamaged from then on. Who stops a deployment
// for longer switches the time to live of both tables off.
//
// Once a task has expired its id is free, whatever of it DynamoDB has deleted: a
// whole one can still be loaded, one of which a piece is gone is
// store.ErrNotFound. A change of Keep holds for tasks that end later; an order may
// be gone Keep and 30 days after the deadline by the Keep it was created with.
//
// # What a role has to allow
//
// On the table Tasks (T), its index CompleteBy (I) and the table Orders (O);
// transactions are allowed by the actions of their parts:
//
//	Create       PutItem on T and O
//	Commit       PutItem on T; UpdateItem on T and O, to change what expires
//	Load         Query and GetItem on T; GetItem on O
//	Due          Query on I
//	List         Query on I; BatchGetItem on T
//	Define       PutItem on T
//	Definitions  Query on T
//	Walk         Scan on T, of a Walker, which is for an operator who audits
//	CreateTables CreateTable, DescribeTable, UpdateTimeToLive on T and O; no
//	             function of a deployment calls it
//
// DeleteItem and ConditionCheckItem are never needed, and Scan by no function of a
// deployment. The resource of I is the ARN of T with /index/CompleteBy.
//
// # Promises
//
// Those of store.Store. Due and List read an index that lags, as a rule by
// milliseconds. List answers for unfinished and for failed tasks; anything else
// would read the whole table and is store.ErrUnsupported. A failed task that
// still owes its alert (task.Task.Owing) is listed once it has been sent.
// store.ErrFull does not happen. No type of the SDK leaves the package but the
// client it is given.
package dynamostore
