// Package agent is the engine of Triad's agents: it turns one request message
// into one call of a remote service and one reply.
//
// It exists so that whoever wraps a service writes a Func and nothing else.
// Deadlines, retries, panics, unreadable messages, limits and the wire format
// are dealt with here. The engine does not know where it runs (a Lambda, a
// process, a test) and has no access to the table: all that it learns is in the
// request, all that it says is in the reply.
//
// # Promises
//
// At most one reply per delivery, with the token of its request. The engine
// keeps no state between deliveries: a request that comes twice is worked on
// twice, under the same idempotency key, and counts once at the service.
//
// Silence when late: once CompleteBy has passed the agent stops and says
// nothing, not even an error. The Supervisor deals with it.
//
// Nothing is lost: a message is either answered, dropped because it is late,
// captured as rejected, or handed back with an error so that it comes again.
//
// # Not promised
//
// That a Func which ignores its context is interrupted: Go can't do that.
// Handle then returns when the Func does, and still sends no late reply.
package agent
