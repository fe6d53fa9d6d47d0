// Package events holds the sample submissions: for use by hand (`triad submit
// events/order.json`), for `make run`, and for tests, so that they can't rot.
package events

import "embed"

// FS has the samples.
//
//go:embed *.json *.jsonl *.yaml
var FS embed.FS
