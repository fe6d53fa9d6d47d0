// Package trigger turns what Lambda hands to a function into one call of an
// engine per message, and the outcome into what Lambda wants to hear.
//
// It exists so that engines know nothing of Lambda: it alone imports
// aws-lambda-go. Messages is for functions behind queues, Ticks for the
// Supervisor, Start gives either to Lambda. It does for functions what package
// consumer does for processes, and says the same things about failures.
//
// # Promises
//
// A message is reported as done only after its handler returned nil. One that
// failed, panicked, did not end in time or was not begun is reported as failed,
// by its id, so that it comes again alone: none is dropped, and none of the
// others is handled again because of it. An error for a whole batch is returned
// only when the payload can't be read.
//
// Messages of one key are handled in the order of the batch, one after the
// other; when one fails, those behind it are not begun and fail with it, so that
// what comes again is still in order. Different keys are handled in parallel: as
// many at once as the batch has keys, so the event source's batch size is the
// limit.
//
// # Time
//
// The handlers' context ends Margin before Lambda's deadline. Handlers then have
// half of Margin to return, and what they return counts. One that ignores its
// context is left behind: it is frozen with the environment and may go on during
// a later invocation, so what it does must be safe to do twice, as with every
// message.
//
// # Not promised
//
// Order between batches, and that a message comes only once.
package trigger
