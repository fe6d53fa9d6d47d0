package workflows_test

import (
	"io/fs"
	"maps"
	"slices"
	"testing"

	yaml "github.com/goccy/go-yaml"

	"triad/shared/task"
	"triad/shared/workflow"
	"triad/workflows"
)

// agents are those of agents.yaml.
func agents(t *testing.T) []string {
	t.Helper()
	text, err := fs.ReadFile(workflows.FS, "agents.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Agents map[string]any `yaml:"agents"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(file.Agents))
}

func TestTheDefinitionsFitTheAgents(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		steps []string
		order string
	}{
		"order.yaml": {
			steps: []string{"reserve", "charge", "ship", "notify"},
			order: `{"customer": "c-1", "items": [{"sku": "tea", "quantity": 2}], "total": 10.50, "address": {"street": "1 Quay", "city": "Cork", "country": "IE"}}`,
		},
		"drone-delivery.yaml": {
			steps: []string{"account", "package", "transport", "drone", "delivery"},
			order: `{"account": "a-1", "pickup": {"latitude": 51.9, "longitude": -8.5}, "dropoff": {"latitude": 51.8, "longitude": -8.4}, "package": {"id": "p-1", "weightKg": 2.5}}`,
		},
	}
	for file, tt := range tests {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			d, err := workflow.ParseFS(workflows.FS, file, agents(t))
			if err != nil {
				t.Fatal(err)
			}
			var steps []string
			for _, s := range d.Workflow.Steps {
				steps = append(steps, s.Name)
			}
			if !slices.Equal(steps, tt.steps) {
				t.Errorf("steps %v, want %v", steps, tt.steps)
			}
			if err := d.CheckOrder([]byte(tt.order)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Transport above 10 kg, a drone up to 25 kg: at least one of them always runs.
func TestWhatCarriesAPackageDependsOnItsWeight(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ transport, drone bool }{
		"0.5": {false, true}, "10": {false, true}, "10.01": {true, true}, "25": {true, true}, "25.5": {true, false},
	}
	d, err := workflow.ParseFS(workflows.FS, "drone-delivery.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	for weight, want := range tests {
		now := task.Task{Order: []byte(`{"package": {"weightKg": ` + weight + `}}`)}
		for name, runs := range map[string]bool{"transport": want.transport, "drone": want.drone} {
			i := slices.IndexFunc(d.Workflow.Steps, func(s task.Step) bool { return s.Name == name })
			got, err := d.Workflow.Steps[i].When(now)
			if err != nil || got != runs {
				t.Errorf("%s kg: %s runs = %t (%v), want %t", weight, name, got, err, runs)
			}
		}
	}
}
