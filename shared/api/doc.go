// Package api is the HTTP door of the embedded engine: applications submit
// through it, operators look at tasks and ask things of them. The CLI and the
// console use nothing else. docs/openapi.yaml describes it; a test holds the two
// together.
//
// It translates and decides nothing: Submission, Operator and the store do the
// work and give the answers.
//
// # Promises
//
// A 2xx answer to a submission means that it is durable and sure to end. Sending
// a submission again is always safe. An answer 5xx leaves the outcome open, but
// for 507 and the codes that say otherwise: send it again.
//
// What was begun for a client that went away is finished all the same.
//
// Every error, also of an unknown path, has the one shape of ErrorBody. All
// input is bounded and read strictly.
//
// The door is for this machine: there is no login. So that a web page can't use
// the browser of somebody on this machine as a bridge, requests are refused
// whose Host is not a loopback name or one of Config.Hosts (DNS rebinding), and
// requests with an effect that a browser marks as coming from another origin.
// Which address to listen on is the caller's choice.
package api
