// Package task is Triad's vocabulary and its pure core.
//
// It holds the nouns that every other package speaks (Task, Step, Event,
// Decision, Request, Wake, Notice, Alert) and the one function that moves a
// task from state to state:
//
//	func Decide(w Workflow, t Task, e Event, now time.Time) (Decision, error)
//
// Decide reads no clock, draws no random number, does no I/O and logs nothing:
// the same arguments give the same Decision, to the byte. Everything that has
// to survive a crash is in the Task it returns; everything that has to be said
// (requests to agents, wake-ups, notices, alerts) is listed beside it, to be
// sent once that Task is committed. If the process dies between the commit and
// the sends, Decide on the committed record says the same things again.
//
// Nothing else in Triad changes a ProcessState. Engines load, call Decide,
// commit and send; adapters store and carry.
//
// Times are Millis (milliseconds since the Unix epoch, UTC). Clocks decide when
// something is tried; only versions and lock tokens decide who wins.
//
// The package imports the standard library only.
package task
