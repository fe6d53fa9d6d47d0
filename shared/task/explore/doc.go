// Package explore visits every world that one task can get into, and checks each.
//
// A simulation draws worlds at random; this package leaves none out, of a small
// task: two or three steps, a few messages, a few faults. A world is the task's
// record, the messages under way, what the services have really done, and where
// the clock stands. From each world it goes on in every way there is: any message
// may be the next to be handled, any request may succeed or fail, time may pass
// although messages wait, an operator may ask at any moment. Two instances take
// turns, and either may be next where their clocks differ. And as long as the
// scenario allows for more faults, the message may come twice or be lost, and its
// handler may die before the commit, after it, or with some of its sends done.
// Search goes breadth first, so that the trace of what it finds is the shortest
// there is.
//
// Only task.Decide is under test. That several instances act at once is covered
// by the version: the store lets one of two commits of a version through and the
// other is decided anew, so one decision follows the other, in any order. A
// Supervisor that acts on an old row of the index is one that decides late; each
// world is asked whether that does nothing when nothing is due.
//
// Worlds that differ only in what no decision depends on are one: times count as
// distances from now, all that has passed as passed, what is more than a day off
// as far; owners and versions not at all. All
// durations of a scenario are multiples of one half minute, so that few distances
// exist.
//
// Two things are checked. Safety, at each decision: the rules of rules.go, which
// read the record before and after, the event and the true effects at the
// services, and nothing of how package task came to its decision. Liveness, of
// each world: from there, without another fault, the task comes to its end, has
// said what there is to say, and has left the index.
package explore
