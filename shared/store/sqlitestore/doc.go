// Package sqlitestore is the embedded store: one SQLite file that holds tasks,
// orders, definitions, notices, alerts and rejected messages, owned by one
// process. It implements store.Store, store.Ledger and store.Mail.
//
// # How it writes
//
// One goroutine writes. Callers hand it operations; it takes all that wait, up
// to a bound, runs them in one transaction, makes that durable with one fsync,
// and then answers each. It never waits for a group to fill: alone, a caller
// pays for its own fsync, and the more callers there are the more share one.
// The condition of an operation is checked against the tasks in memory, which
// are the latest because nobody else writes; one that fails it leaves its
// neighbours alone. When a statement fails (no room, damage), the whole group
// is rolled back and each of its callers gets the error.
//
// # Promises
//
// Those of store.Store and store.Ledger. In addition: Due and List see every
// commit that had returned; notices and alerts of a Change are written with it;
// what was acknowledged survives the loss of power, as far as fsync does
// (journal mode WAL, synchronous FULL).
//
// # The file
//
// While it is open PATH-wal and PATH-shm stand beside it, and PATH.lock says who
// owns it. Reading it with sqlite3 meanwhile is safe; writing is not. A reader
// that keeps a transaction open keeps the WAL growing. Records are JSON:
//
//	select id, state, json_extract(record, '$.r') from tasks where state = 'Error';
package sqlitestore
