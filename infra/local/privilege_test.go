package main_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"triad/infra/local/cloud"
	"triad/infra/local/privilege"
)

// testPrivilege holds every role against the calls that its function made in all
// parts before, and those that Lambda makes in its place.
func (d *deployment) testPrivilege(t *testing.T) {
	for _, fault := range d.calls.Faults() {
		t.Error(fault)
	}
	functions, err := d.Functions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var roles []privilege.Role
	var needs []privilege.Need
	for _, f := range functions {
		roles = append(roles, privilege.Role{Name: f.Name, Policies: f.Policies})
		needs = append(needs, privilege.ByLambda(f.Name, f.Sources, f.Logs, cloud.Region, cloud.Account)...)
	}
	for _, c := range d.calls.Calls() {
		needs = append(needs, privilege.Need{Role: strings.TrimPrefix(c.Caller, "triad-"), Action: c.Action, Resource: c.Resource})
		t.Logf("%6d times %s", d.calls.Count(c), c)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	found, err := privilege.Simulator{Node: node, Modules: d.Repository(".local", "cloud", "node_modules")}.Check(t.Context(), roles, needs)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range found.Denied {
		t.Errorf("not allowed, and needed: %s", n)
	}
	for _, g := range found.Unused {
		t.Errorf("allowed, and never needed: %s", g)
	}
	t.Logf("%d roles, %d needs", len(roles), len(needs))
}

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
