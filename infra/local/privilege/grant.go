package privilege

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// document is a policy.
type document struct {
	Version   string
	Statement []statement
}

type statement struct {
	Sid       string `json:",omitempty"`
	Effect    string
	Action    words
	Resource  words
	Condition json.RawMessage `json:",omitempty"`
}

// words is what IAM lets be one word or a list of them.
type words []string

// UnmarshalJSON reads either.
func (w *words) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*w = words{one}
		return nil
	}
	var all []string
	err := json.Unmarshal(text, &all)
	*w = all
	return err
}

// grants takes the policies apart: each action on each resource of a statement
// that allows. A statement that allows all but something is refused: nobody could
// say what it grants.
func (r Role) grants() (all []Grant, err error) {
	for _, text := range r.Policies {
		var d document
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("reading a policy: %w", err)
		}
		for i, s := range d.Statement {
			if s.Sid == "" {
				s.Sid = strconv.Itoa(i + 1)
			}
			if s.Effect == "Deny" {
				continue
			}
			if len(s.Action) == 0 || len(s.Resource) == 0 {
				return nil, fmt.Errorf("statement %s must name actions and resources", s.Sid)
			}
			for _, action := range s.Action {
				for _, resource := range s.Resource {
					all = append(all, Grant{Role: r.Name, Statement: s.Sid, Action: action, Resource: resource, condition: s.Condition})
				}
			}
		}
	}
	return all, nil
}

// policy is a policy that grants this and nothing else.
func (g Grant) policy() (json.RawMessage, error) {
	return json.Marshal(document{Version: "2012-10-17", Statement: []statement{{
		Effect: "Allow", Action: words{g.Action}, Resource: words{g.Resource}, Condition: g.condition,
	}}})
}
