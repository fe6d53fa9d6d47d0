package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"triad/shared/remote"
	"triad/shared/task"
)

// Samples is events/samples.yaml: what is submitted, what goes wrong with it on
// purpose, and how it must end.
type Samples struct {
	// Faults are switched on at each service before the first order.
	Faults map[string]remote.Faults
	// Orders are the submissions, sample by sample.
	Orders []Order
	// Groups are the samples, in the order of the file.
	Groups []Group
	// Unreadable are messages that must be rejected.
	Unreadable []string
}

// Group is one sample.
type Group struct {
	Name   string     `yaml:"name"`
	About  string     `yaml:"about"`
	Count  int        `yaml:"count"`
	Repeat int        `yaml:"repeat"`
	Ends   task.State `yaml:"ends"`
	Holds  []string   `yaml:"holds"`
	// Submission is a template: {n} becomes the number of the order.
	Submission any `yaml:"submission"`
}

// Order is one submission of a Group.
type Order struct {
	task.Submission
	Group *Group
}

// Parse reads samples. The error names what is wrong and where.
func Parse(text []byte) (*Samples, error) {
	var file struct {
		Faults     map[string][]map[string]any `yaml:"faults"`
		Samples    []Group                     `yaml:"samples"`
		Unreadable []string                    `yaml:"unreadable"`
	}
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("reading the samples: %w", err)
	}
	s := &Samples{Groups: file.Samples, Unreadable: file.Unreadable, Faults: map[string]remote.Faults{}}
	for service, rules := range file.Faults {
		faults, err := faultsOf(rules)
		if err != nil {
			return nil, fmt.Errorf("reading the faults of %s: %w", service, err)
		}
		s.Faults[service] = faults
	}
	for i := range s.Groups {
		if err := s.expand(&s.Groups[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// faultsOf reads rules by the names that the services' own JSON has.
func faultsOf(rules []map[string]any) (f remote.Faults, err error) {
	text, err := json.Marshal(map[string]any{"rules": rules})
	if err != nil {
		return f, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return f, dec.Decode(&f)
}

func (s *Samples) expand(g *Group) error {
	template, err := json.Marshal(g.Submission)
	if err != nil {
		return fmt.Errorf("reading sample %q: %w", g.Name, err)
	}
	g.Repeat = max(g.Repeat, 1)
	for n := 1; n <= g.Count; n++ {
		o := Order{Group: g}
		text := strings.ReplaceAll(string(template), "{n}", strconv.Itoa(n))
		if err := json.Unmarshal([]byte(text), &o.Submission); err != nil {
			return fmt.Errorf("reading sample %q: %w", g.Name, err)
		}
		s.Orders = append(s.Orders, o)
	}
	return nil
}

// Mixed returns the orders in the order in which they are submitted: the groups
// dealt out evenly, the same on every run.
func (s *Samples) Mixed() []Order {
	mixed := make([]Order, 0, len(s.Orders))
	taken := map[*Group]int{}
	byGroup := map[*Group][]Order{}
	for _, o := range s.Orders {
		byGroup[o.Group] = append(byGroup[o.Group], o)
	}
	for len(mixed) < len(s.Orders) {
		next := &s.Groups[0]
		for i := range s.Groups {
			if g := &s.Groups[i]; share(taken[g], g.Count) < share(taken[next], next.Count) {
				next = g
			}
		}
		mixed = append(mixed, byGroup[next][taken[next]])
		taken[next]++
	}
	return mixed
}

func share(taken, count int) float64 { return float64(taken) / float64(count) }
