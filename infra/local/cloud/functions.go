package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Function is a deployed function, as those see it who judge its role.
type Function struct {
	// Name is the function's, without the stack's: agents-http.
	Name string
	// Policies are the documents of its role.
	Policies []json.RawMessage
	// Sources are the ARNs of the queues that it is invoked for.
	Sources []string
	// Logs is the name of its log group.
	Logs string
}

// Functions are the functions of the stack, with what their roles may do. A role
// with a managed policy is an error: what AWS manages is wider than a function
// needs.
func (c *Cloud) Functions(ctx context.Context) ([]Function, error) {
	var deployed struct {
		Functions []struct {
			FunctionName, FunctionArn, Role string
			LoggingConfig                   struct{ LogGroup string }
		}
	}
	var sources struct {
		EventSourceMappings []struct{ FunctionArn, EventSourceArn string }
	}
	err := errors.Join(c.AWS(ctx, &deployed, "lambda", "list-functions"), c.AWS(ctx, &sources, "lambda", "list-event-source-mappings"))
	if err != nil {
		return nil, err
	}
	roles, err := c.policies(ctx)
	if err != nil {
		return nil, err
	}
	var all []Function
	for _, d := range deployed.Functions {
		name, ours := strings.CutPrefix(d.FunctionName, c.config.Stack+"-")
		if !ours {
			continue
		}
		f := Function{Name: name, Logs: d.LoggingConfig.LogGroup, Policies: roles[path.Base(d.Role)]}
		if f.Policies == nil {
			return nil, fmt.Errorf("the role %s of function %s is not there, or has no policies", d.Role, name)
		}
		for _, s := range sources.EventSourceMappings {
			if s.FunctionArn == d.FunctionArn {
				f.Sources = append(f.Sources, s.EventSourceArn)
			}
		}
		slices.Sort(f.Sources)
		all = append(all, f)
	}
	return all, nil
}

// policies are the inline policies of every role, by its name.
func (c *Cloud) policies(ctx context.Context) (map[string][]json.RawMessage, error) {
	var found struct {
		RoleDetailList []struct {
			RoleName                string
			RolePolicyList          []struct{ PolicyDocument json.RawMessage }
			AttachedManagedPolicies []struct{ PolicyArn string }
		}
	}
	if err := c.AWS(ctx, &found, "iam", "get-account-authorization-details", "--filter", "Role"); err != nil {
		return nil, err
	}
	all := map[string][]json.RawMessage{}
	for _, r := range found.RoleDetailList {
		if strings.HasPrefix(r.RoleName, c.config.Stack+"-") && len(r.AttachedManagedPolicies) > 0 {
			return nil, fmt.Errorf("role %s has the managed policy %s", r.RoleName, r.AttachedManagedPolicies[0].PolicyArn)
		}
		for _, p := range r.RolePolicyList {
			all[r.RoleName] = append(all[r.RoleName], p.PolicyDocument)
		}
	}
	return all, nil
}

// Triad runs the triad command on the stack, and returns what it prints.
func (c *Cloud) Triad(ctx context.Context, words ...string) (string, error) {
	args := append([]string{"--stack", c.config.Stack, "--region", Region, "--endpoint-url", c.state.Endpoint}, words...)
	return c.output(ctx, c.file("triad"), args...)
}
