// Package remote is the reference remote services: real HTTP servers that the
// sample workflows' agents call, and that misbehave on demand.
//
// It exists to prove, from the far side of the wire, that effects happen once
// and that undo leaves nothing behind, whatever was lost, doubled or late.
//
//	PUT    /{service}/{id}     creates (201) or updates (204) the effect id
//	DELETE /{service}/{id}     undoes it (204), also before it was created
//	GET    /accounts/{id}      is the account open? (200; 403 for blocked...)
//	GET    /{service}/{id}     one effect (all services but accounts)
//	GET    /{service}          all effects of a service
//	GET    /                   a summary of every service
//	PUT    /faults/{service}   switches faults on, in place of those before
//	DELETE /faults/{service}   switches them off
//	GET    /faults             the faults that are on
//
// # Promises
//
// The caller assigns the id, and a repeated PUT changes nothing but counters.
// Effect.Applied counts how often an effect was really applied, by the header
// Idempotency-Key: more than one means that the caller's keys are wrong.
//
// A DELETE leaves a tombstone: a PUT that arrives after it is refused (410), so
// that a late duplicate can't leave an effect behind.
//
// Everything is in memory and kept until the process ends. The services are
// safe for concurrent use.
package remote
