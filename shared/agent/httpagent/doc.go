// Package httpagent is the agent for any HTTP service: what to call, and what
// the answers mean, is described in YAML instead of Go.
//
// It exists so that a service which takes PUT with a caller-assigned id, or
// heeds the Idempotency-Key header, takes part in workflows without a line of
// code. An Agent's Call is an agent.Func; deadlines between tries, replies and
// wire formats stay with package agent.
//
// # Promises
//
// Every call of a step carries the same Idempotency-Key. An answer is a
// success, a refusal for good or a transient failure by its status code alone,
// as configured. No call goes anywhere but to the configured host: redirects
// are not followed, no proxy is used, and what a request fills into the URL
// can't leave its path segment or query value.
//
// Calls at once are bounded, and a service that keeps failing is left alone for
// a while: the circuit breaker answers in its place, with the time at which it
// may be asked again.
//
// # Not promised
//
// One request on the wire per call: net/http repeats one whose kept-alive
// connection the server closed before answering. The key makes that harmless.
package httpagent
