// Package workflows holds the definitions that Triad comes with, as files: the
// workflows, the schemas of their orders, and the agents. They are the defaults
// of a deployment and an example to copy; a directory of the same shape takes
// their place.
package workflows

import "embed"

// FS has order.yaml, drone-delivery.yaml, agents.yaml and schemas/. It is
// read-only and safe for concurrent use.
//
//go:embed *.yaml schemas/*.json
var FS embed.FS
