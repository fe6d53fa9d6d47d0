// Package events holds the sample submissions: for use by hand (`triad submit
// events/order.json`), for `make run`, and for tests, so that they can't rot. Its
// lambda-*.json are what Lambda hands to a function: messages of the scheduler
// queue, a tick of the Supervisor's queue, and the event of its schedule.
package events

import "embed"

// FS has the samples.
//
//go:embed *.json *.jsonl *.yaml
var FS embed.FS
