// Package client speaks the HTTP API of package api: one method for each route,
// its shapes as types, its errors as sentinels.
//
// It retries nothing: callers know what may wait. Every call may be repeated;
// what that means is said at the route in docs/openapi.yaml.
package client
