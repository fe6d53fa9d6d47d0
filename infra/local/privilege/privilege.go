// Package privilege proves that each role may do what its function does, and
// nothing else: no call is denied, and nothing that is granted could be taken
// away.
//
// The evaluation is not ours, since IAM's rules are many: the npm package
// @cloud-copilot/iam-simulate does it, offline, as a tool that Node.js runs. It
// is installed beside the stand-ins and is no part of the repository.
package privilege

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

//go:embed simulate.cjs
var simulate string

// Role is an IAM role with its policies.
type Role struct {
	Name string
	// Policies are the documents, without variables or intrinsic functions.
	Policies []json.RawMessage
}

// Need is a permission that a role's function needs.
type Need struct{ Role, Action, Resource string }

// String names the need.
func (n Need) String() string { return n.Role + " " + n.Action + " on " + n.Resource }

// Grant is what one statement allows: one action on one resource.
type Grant struct {
	Role string
	// Statement is the Sid, or the number of the statement.
	Statement        string
	Action, Resource string

	condition json.RawMessage
}

// String names the grant.
func (g Grant) String() string {
	return fmt.Sprintf("%s %s on %s (statement %s)", g.Role, g.Action, g.Resource, g.Statement)
}

// Findings is what is wrong. Both are empty when the roles are the least.
type Findings struct {
	// Denied are needs that no policy of the role allows.
	Denied []Need
	// Unused are grants that no need makes use of.
	Unused []Grant
}

// Simulator evaluates policies. It is safe for concurrent use.
type Simulator struct {
	// Node is the path of Node.js.
	Node string
	// Modules is the folder node_modules that has @cloud-copilot/iam-simulate.
	Modules string
}

// Check holds each role's policies against what its function needs. It returns an
// error when a need's role is unknown, or a policy can't be evaluated.
func (s Simulator) Check(ctx context.Context, roles []Role, needs []Need) (f Findings, err error) {
	byRole := map[string][]Need{}
	for _, n := range needs {
		byRole[n.Role] = append(byRole[n.Role], n)
	}
	for _, r := range roles {
		if err := s.check(ctx, r, byRole[r.Name], &f); err != nil {
			return Findings{}, fmt.Errorf("evaluating the policies of role %s: %w", r.Name, err)
		}
		delete(byRole, r.Name)
	}
	for name, left := range byRole {
		return Findings{}, fmt.Errorf("there is no role %s, which needs %s on %s", name, left[0].Action, left[0].Resource)
	}
	return f, nil
}

// check asks whether the role's policies together allow each need, and whether
// each grant alone allows one of them.
func (s Simulator) check(ctx context.Context, r Role, needs []Need, f *Findings) error {
	grants, err := r.grants()
	if err != nil {
		return err
	}
	questions := make([]question, 0, len(needs)*(1+len(grants)))
	for _, n := range needs {
		questions = append(questions, question{n.Action, n.Resource, r.Policies})
	}
	for _, g := range grants {
		alone, err := g.policy()
		if err != nil {
			return err
		}
		for _, n := range needs {
			questions = append(questions, question{n.Action, n.Resource, []json.RawMessage{alone}})
		}
	}
	allowed, err := s.ask(ctx, questions)
	if err != nil {
		return err
	}
	for i, n := range needs {
		if !allowed[i] {
			f.Denied = append(f.Denied, n)
		}
	}
	for i, g := range grants {
		of := allowed[(i+1)*len(needs) : (i+2)*len(needs)]
		if !slices.Contains(of, true) {
			f.Unused = append(f.Unused, g)
		}
	}
	return nil
}

// question is a simulation as the script reads it.
type question struct {
	Action   string            `json:"action"`
	Resource string            `json:"resource"`
	Policies []json.RawMessage `json:"policies"`
}

// ask has the script answer all questions at once.
func (s Simulator) ask(ctx context.Context, all []question) ([]bool, error) {
	in, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, s.Node, "-e", simulate)
	cmd.Env = append(os.Environ(), "NODE_PATH="+s.Modules)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("running the simulation: %w: %s", err, strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil {
		return nil, fmt.Errorf("running the simulation: %w", err)
	}
	var answers []struct {
		Allowed bool   `json:"allowed"`
		Error   string `json:"error"`
	}
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(all) {
		return nil, fmt.Errorf("reading %d answers of the simulation to %d questions: %w", len(answers), len(all), err)
	}
	allowed := make([]bool, len(answers))
	for i, a := range answers {
		if a.Error != "" {
			return nil, fmt.Errorf("evaluating %s on %s: %s", all[i].Action, all[i].Resource, a.Error)
		}
		allowed[i] = a.Allowed
	}
	return allowed, nil
}
