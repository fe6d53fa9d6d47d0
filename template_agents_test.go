package triad_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"triad/workflows"
)

// agentsOf is what a deployment has of agents, besides its templates.
type agentsOf struct {
	names     []string            // in workflows/agents.yaml, sorted
	inGo      []string            // those that have a folder of functions/agents to themselves
	variables map[string][]string // that functions read and Triad does not know, by function
}

// The variables that agents.yaml names, and that the main of an agent in Go reads.
var (
	setting = regexp.MustCompile(`\$\{([A-Z][A-Z0-9_]*)`)
	getenv  = regexp.MustCompile(`os\.Getenv\("([A-Z0-9_]+)"\)`)
)

// agents are those of this repository.
func agents(t *testing.T) agentsOf {
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
	all := agentsOf{names: slices.Sorted(maps.Keys(file.Agents))}
	all.variables = map[string][]string{"agents-http": named(setting, fmt.Sprint(file.Agents))} // no comments in it
	mains, err := filepath.Glob("functions/agents/*/main.go")
	if err != nil || len(mains) < 2 {
		t.Fatalf("looking for agents in functions/agents: %v, found %v", err, mains)
	}
	for _, path := range mains {
		name := filepath.Base(filepath.Dir(path))
		if name == "http" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.inGo = append(all.inGo, name)
		all.variables["agents-"+name] = named(getenv, string(text))
	}
	return all
}

// named are the names that a pattern finds in a text, each once.
func named(pattern *regexp.Regexp, text string) []string {
	found := map[string]bool{}
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// inGo is the agent that has this function to itself.
func inGo(fn function) (agent string, is bool) {
	agent, is = strings.CutPrefix(fn.name, "agents-")
	return agent, is && agent != "http"
}

// logical is an agent's name in logical names, which have no hyphens: CreditCheck
// for credit-check.
func logical(agent string) (name string) {
	for word := range strings.SplitSeq(agent, "-") {
		if word != "" {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return name
}

// likePayment is a tree with the agent credit-check in the place of payment.
func likePayment(in any) any {
	switch in := in.(type) {
	case object:
		o := object{}
		for key, v := range in {
			o[strings.ReplaceAll(key, "Payment", "CreditCheck")] = likePayment(v)
		}
		return o
	case []any:
		list := []any{}
		for _, v := range in {
			list = append(list, likePayment(v))
		}
		return list
	case string:
		return strings.NewReplacer("Payment", "CreditCheck", "payment", "credit-check").Replace(in)
	}
	return in
}

// TestTheTemplateTakesAnotherAgentInGo does to the templates what docs/deploy.md
// asks for, with all that there is for payment, and holds them against the rules.
func TestTheTemplateTakesAnotherAgentInGo(t *testing.T) {
	t.Parallel()
	ts, all := load(t), agents(t)
	all.names = sorted(all.names, "credit-check")
	all.inGo = append(all.inGo, "credit-check")
	all.variables["agents-credit-check"] = all.variables["agents-payment"]

	for _, part := range []object{
		within(ts[rootFile], "Resources"), within(ts[rootFile], "Outputs"), ts.stacks(rolesFile)["Roles"],
		within(ts[rolesFile], "Parameters"), within(ts[rolesFile], "Resources"), within(ts[rolesFile], "Outputs"), within(ts[alarmsFile], "Resources"),
	} {
		for _, name := range slices.Collect(maps.Keys(part)) {
			if strings.Contains(name, "Payment") {
				part[strings.ReplaceAll(name, "Payment", "CreditCheck")] = likePayment(part[name])
			}
		}
	}
	names := within(ts[rootFile], "Mappings", "Agents", "All")
	names["Names"] = fmt.Sprint(names["Names"], ",credit-check")
	walk(ts[rolesFile], rolesFile, func(_ string, o object) {
		statements, _ := o["Statement"].([]any)
		for _, s := range statements {
			to, _ := at(s, "Resource").([]any)
			switch {
			case at(s, "Sid") == "DepthOfPayment":
				statements = append(statements, likePayment(s))
			case slices.ContainsFunc(to, func(r any) bool { return at(r, "Ref") == "PaymentArn" }):
				s.(object)["Resource"] = append(to, object{"Ref": "CreditCheckArn"})
			}
		}
		if statements != nil {
			o["Statement"] = statements
		}
	})
	board := within(ts[boardFile], "Resources", "Dashboard", "Properties", "DashboardBody")
	line := regexp.MustCompile(`\n *\["\.\.\.", "\$\{Stack}-agents?-payment"]`)
	board["Fn::Sub"] = line.ReplaceAllStringFunc(fmt.Sprint(board["Fn::Sub"]), func(s string) string {
		return strings.ReplaceAll(s, "payment", "credit-check") + "," + s
	})

	for name, holds := range rulesOf(t, all) {
		for _, fault := range holds(ts) {
			t.Errorf("%s: %s", name, fault)
		}
	}
	if len(agentsAreThose(agents(t))(ts)) == 0 {
		t.Error("the agent is in the templates and not in the repository, and that is no fault")
	}
}

// TestTheTemplateGivesWhatAgentsRead: a setting that agents.yaml names needs a
// variable of its function.
func TestTheTemplateGivesWhatAgentsRead(t *testing.T) {
	t.Parallel()
	ts, all := load(t), agents(t)
	all.variables["agents-http"] = sorted(all.variables["agents-http"], "TOKEN")
	if len(environment(all)(ts)) == 0 {
		t.Error("agents.yaml names TOKEN, the template does not give it, and that is no fault")
	}
	within(ts[rootFile], "Resources", "HttpAgentsFunction", "Properties", "Environment", "Variables")["TOKEN"] = "secret"
	for _, fault := range environment(all)(ts) {
		t.Error(fault)
	}
}
