// Package sim proves the engine by running it against everything that can go
// wrong: the method is deterministic simulation.
//
// # The method
//
// A run is a whole deployment in one goroutine: the real engines (submission,
// scheduler, supervisor, operator, agent), two or three instances of each, over
// a simulated table, simulated queues, clocks, remote services and an outlet.
// One number, the seed, decides everything: the workflows, the orders, how many
// instances there are, which faults exist in this run and how often they strike.
// The same seed gives the same run, to the byte, wherever it is run.
//
// Each message, sweep or verb is handled by a hand: a coroutine that runs the
// engine's own code. Whenever that code calls a port (the table, a queue, a
// service, the outlet) the hand stops and hands over. A heap of events, ordered
// by simulated time, says who goes on. So between any two calls of one instance
// any number of calls of others can happen, an instance can be frozen for
// minutes, and it can die: a hand that dies is unwound at the port and never
// runs again. Hours of simulated time pass in milliseconds, since nothing waits.
//
// Faults are drawn, not scripted (see Fault). Each seed enables a random subset,
// each with a rate of its own, because faults that are always all on hide
// failures that need one of them off; some seeds have none at all.
//
// # What is checked
//
// After every commit and at every send a reference model (model.go and the files
// after it) holds what it saw against the invariants S1 to S15. It is a second,
// much simpler account of what a task may do. It sees what an outsider sees: the
// records before and after a commit, the message or verb being handled, the
// clock reading of the instance, the messages sent and what the services really
// did. Checking after each commit matters: checks of the end alone pass many
// bugs that mend themselves.
//
// A run has two phases. In the first the faults strike, and only safety is
// checked. Then everything is mended, and liveness is checked: every task ends
// within a bound computed from its definition, the queues drain, what was to be
// told has been told, the services hold the effects that the ends of the tasks
// say, and none other.
//
// A tally counts the faults that struck and the states and transitions that were
// reached: a simulation that passes by doing nothing is worth nothing.
//
// # When a seed fails
//
// Run returns a Violation with the rule, the moment and a trace. Shrink removes
// faults and tasks while the seed still fails. Both are repeated exactly by the
// same Options.
//
// # Laws
//
// The simulated services keep what docs/guarantees.md asks of services: a key
// counts once, an undo leaves a mark that refuses later work, and a refusal means
// that there is no effect and stands until an operator has mended its cause.
package sim
