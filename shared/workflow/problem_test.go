package workflow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/workflow"
)

const (
	wantDuration = "write a duration from 1ms to 3650d, such as 500ms, 30s, 10m, 24h or 7d"
	wantName     = "write a lower-case letter, then lower-case letters, digits and -, at most 63 characters"
	stepFields   = "known fields: after, when, agent, wait, signal, completeWithin, retry, undo, input, onExhausted, extendedWait"
)

// schemas are the files beside the definitions of these tests.
var schemas = map[string]string{
	"wrong.json":  `{"type": 3, "properties": {"a": {"minimum": "x"}}}`,
	"broken.json": `{`,
	"remote.json": `{"$ref": "https://example.com/x.json"}`,
	"regexp.json": `{"pattern": "("}`,
	"huge.json":   `{"minimum": 1e999999999}`,
}

func openSchema(name string) ([]byte, error) {
	if text, ok := schemas[name]; ok {
		return []byte(text), nil
	}
	return nil, fmt.Errorf("there is no file %s", name)
}

// problemCase is a definition and each of its problems: "line:column: text".
type problemCase struct {
	text string
	want []string
}

func checkProblems(t *testing.T, tests map[string]problemCase) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.Parse(workflow.Source{File: "order.yaml", Text: []byte(tt.text), Agents: agents, Open: openSchema})
			var problems workflow.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got error %v, want Problems", err)
			}
			var got []string
			for _, p := range problems {
				got = append(got, strings.TrimPrefix(p.String(), "order.yaml:"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// step is a definition whose step a, in line 5, has these fields, from column 7.
func step(fields string) string { return head + "steps:\n  a: {" + fields + "}\n" }

func TestProblemsOfTheText(t *testing.T) {
	t.Parallel()
	checkProblems(t, map[string]problemCase{
		"empty": {"", []string{"1:1: the definition is empty: write workflow, version, completeWithin and steps"}},
		"wrong indentation": {"workflow: order\nversion: 1\n  completeWithin: 24h\n",
			[]string{`2:10: YAML syntax: mapping value is not allowed in this context: put a text with ": " in quotes, and check the indentation`}},
		"tab": {"workflow: order\nsteps:\n\ta: {}\n",
			[]string{"3:1: YAML syntax: found character '\t' that cannot start any token: indent with spaces, not tabs"}},
		"expression without quotes in braces": {step("agent: payment, input: {x: ${order.x}}"),
			[]string{"5:35: YAML syntax: ',' or '}' must be specified: put a text with ${...} in quotes"}},
		"open quote":            {"workflow: \"order\nversion: 1\n", []string{"1:11: YAML syntax: could not find end character of double-quoted text"}},
		"not a mapping":         {"[]\n", []string{"1:1: workflow is a list: write the fields workflow, version, completeWithin and steps"}},
		"not UTF-8":             {"\xff", []string{" the definition is not UTF-8 text"}},
		"too large":             {strings.Repeat("# more\n", 10_000), []string{" the definition has 70000 bytes, at most 65536 are allowed"}},
		"two documents":         {head + "---\nx: 1\n", []string{"4:1: YAML syntax: a definition is one YAML document without directives"}},
		"lists nested too deep": {strings.Repeat("[", 60_000), []string{"1:25: YAML syntax: lists and mappings are nested too deep"}},
		"dashes nested too deep": {strings.Repeat("- ", 30_000),
			[]string{"1:17: YAML syntax: lists and mappings are nested too deep"}},
		"key twice": {"workflow: order\nversion: 1\nversion: 2\ncompleteWithin: 1h\nsteps: {a: {agent: payment, agent: inventory}}\n",
			[]string{`3:1: "version" is there twice, first on line 2: remove or rename one of them`,
				`5:29: "agent" is there twice, first on line 5: remove or rename one of them`}},
		"step twice": {head + "steps:\n  a: {agent: payment}\n  b: {agent: payment}\n  a: {agent: payment}\n",
			[]string{`7:3: "a" is there twice, first on line 5: remove or rename one of them`}},
		"anchors, aliases, tags and merges": {head + "steps:\n  a: &x {agent: payment}\n  b: *x\n  c: {agent: !!str payment}\n  d: {<<: *x}\n",
			[]string{"5:6: an anchor (&) can't be used in a definition: write the value itself",
				"6:6: an alias (*) can't be used in a definition: write the value itself",
				"7:14: a tag (!) can't be used in a definition: write the value itself",
				"8:7: a merge (<<) can't be used as a key: write a plain key"}},
		"places count characters, not bytes": {head + "steps:\n  a: {input: 'äöü', agent: paymnt}\n",
			[]string{`5:28: step "a": agent "paymnt" is not known: did you mean "payment"? known agents: inventory, payment, shipping`}},
	})
}

func TestProblemsOfFields(t *testing.T) {
	t.Parallel()
	checkProblems(t, map[string]problemCase{
		"nothing there": {"steps: {}\n", []string{
			"1:1: workflow: workflow is missing: write workflow: and the name of the workflow",
			"1:1: workflow: version is missing: write version: 1",
			"1:1: workflow: completeWithin is missing: write completeWithin: and by when, from its submission, a task must have ended, such as 24h",
			"1:1: workflow: steps is empty: write steps: and under it the steps, each a name with its fields"}},
		"unknown field": {head + "stepz:\n  a: {agent: payment}\n", []string{
			"1:1: workflow: steps is missing: write steps: and under it the steps, each a name with its fields",
			`4:1: workflow: "stepz" is not a field: did you mean "steps"? known fields: workflow, version, completeWithin, onExhausted, priority, input, steps`}},
		"unknown field of a step": {step("agent: payment, completWithin: 3s"),
			[]string{`5:23: step "a": "completWithin" is not a field: did you mean "completeWithin"? ` + stepFields}},
		"unknown field of a retry": {step("agent: payment, retry: {facter: 2}"),
			[]string{`5:31: step "a": retry: "facter" is not a field: did you mean "factor"? known fields: attempts, first, factor, max`}},
		"unknown field unlike any": {step("agent: payment, colour: red"),
			[]string{`5:23: step "a": "colour" is not a field: ` + stepFields}},
		"wrong types": {"workflow: [order]\nversion: one\ncompleteWithin: 10\nonExhausted: {}\ninput: 3\nsteps:\n  a: payment\n  b: {agent: payment, undo: true, retry: 3, after: 7, when: [x]}\n", []string{
			"1:11: workflow: workflow is a list: " + wantName,
			`2:10: workflow: version is the text "one": write a whole number from 1 to 1000000000`,
			"3:17: workflow: completeWithin is the number 10: " + wantDuration,
			"4:14: workflow: onExhausted is empty: write one of error, compensate",
			"5:8: workflow: input is the number 3: write the path of a JSON Schema, such as schemas/order.json",
			`7:3: step "a" is the text "payment": write agent: and the agent's name, or wait:, or signal:`,
			`8:23: step "b": undo is the boolean true: write undo: {} or its completeWithin and retry`,
			`8:35: step "b": retry is the number 3: write {attempts: 4, first: 1s, factor: 2, max: 1m}`,
			`8:52: step "b": after is the number 7: write the name of a step, a list of names, or [] to start at once`,
			`8:61: step "b": when is a list: write an expression that is true or false, such as order.total > 0`}},
		"undo without a value": {step("agent: payment, undo: "),
			[]string{`5:23: step "a": undo is empty: write undo: {} or its completeWithin and retry`}},
		"names": {head + "steps:\n  A_b: {agent: Payment}\n  1: {signal: go!}\n", []string{
			`5:3: step "A_b" is not a name: ` + wantName,
			`5:16: step "A_b": agent "Payment" is not a name: ` + wantName,
			`6:3: step "1" is not a name: ` + wantName,
			`6:15: step "1": signal "go!" is not a name: ` + wantName}},
		"version zero": {strings.Replace(step("agent: payment"), "version: 1", "version: 0", 1),
			[]string{"2:10: workflow: version is 0: write a whole number from 1 to 1000000000"}},
		"unknown agent": {step("agent: paymnt"),
			[]string{`5:14: step "a": agent "paymnt" is not known: did you mean "payment"? known agents: inventory, payment, shipping`}},
		"agent and wait": {step("agent: payment, wait: 3s"),
			[]string{`5:23: step "a": there is agent and wait: write exactly one of agent, wait and signal`}},
		"no agent, wait or signal": {step("after: []"),
			[]string{`5:3: step "a": there is no agent, wait or signal: write exactly one of agent, wait and signal`}},
		"too many steps": {head + "steps:\n" + manySteps(65),
			[]string{"69:3: workflow: there are 65 steps, at most 64 are allowed: split the workflow"}},
	})
}

func manySteps(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  s%d: {agent: payment}\n", i)
	}
	return b.String()
}

func TestProblemsOfTimesAndRetries(t *testing.T) {
	t.Parallel()
	checkProblems(t, map[string]problemCase{
		"not a duration":   {step("agent: payment, completeWithin: soon"), []string{`5:39: step "a": completeWithin: "soon" is not a duration: ` + wantDuration}},
		"wrong days":       {step("agent: payment, completeWithin: 1h2d"), []string{`5:39: step "a": completeWithin: "1h2d" is not a duration: ` + wantDuration}},
		"negative":         {step("agent: payment, completeWithin: -3s"), []string{`5:39: step "a": completeWithin: -3s is negative: ` + wantDuration}},
		"zero":             {step("wait: 0s"), []string{`5:13: step "a": wait: 0s is no time at all: ` + wantDuration}},
		"below resolution": {step("wait: 3us"), []string{`5:13: step "a": wait: 3us is too short: ` + wantDuration}},
		"beyond reason":    {step("wait: 99999999999999999999d"), []string{`5:13: step "a": wait: 99999999999999999999d is too long: ` + wantDuration}},
		"longer than the task": {head + "steps:\n  a: {agent: payment, completeWithin: 2d}\n  b: {wait: 25h}\n  c: {signal: go, completeWithin: 25h}\n", []string{
			`5:39: step "a": completeWithin 2d is longer than the workflow's completeWithin 24h: write a shorter time, or give the workflow more`,
			`6:13: step "b": wait 25h is longer than the workflow's completeWithin 24h: write a shorter time, or give the workflow more`,
			`7:35: step "c": completeWithin 25h is longer than the workflow's completeWithin 24h: write a shorter time, or give the workflow more`}},
		"no attempts":       {step("agent: payment, retry: {attempts: 0}"), []string{`5:41: step "a": retry: attempts is 0: write a whole number from 1 to 100`}},
		"101 attempts":      {step("agent: payment, retry: {attempts: 101}"), []string{`5:41: step "a": retry: attempts is 101: write a whole number from 1 to 100`}},
		"attempts and half": {step("agent: payment, undo: {retry: {attempts: 1.5}}"), []string{`5:48: step "a": undo: retry: attempts is 1.5: write a whole number from 1 to 100`}},
		"factor below 1":    {step("agent: payment, retry: {factor: 0.5}"), []string{`5:39: step "a": retry: factor is 0.5: write a number from 1 (equal waits) to 100`}},
		"max below first":   {step("agent: payment, retry: {first: 2m, max: 1s}"), []string{`5:47: step "a": retry: max 1s is shorter than first 2m: write a max that is at least first`}},
		"unknown priority": {head + "priority: urgent\nsteps:\n  a: {agent: payment}\n", []string{
			`4:11: workflow: priority "urgent" is not known: known values: high, normal, low`}},
		"unknown onExhausted": {head + "onExhausted: wait\nsteps:\n  a: {agent: payment, onExhausted: compensat}\n", []string{
			`4:14: workflow: onExhausted "wait" is not known: known values: error, compensate`,
			`6:36: step "a": onExhausted "compensat" is not known: did you mean "compensate"? known values: error, compensate, wait`}},
		"wait without extendedWait": {step("agent: payment, onExhausted: wait"),
			[]string{`5:36: step "a": onExhausted is wait, but there is no extendedWait: write extendedWait: {for: 1h, times: 24}`}},
		"extendedWait without wait": {step("agent: payment, extendedWait: {for: 3s, times: 3}"),
			[]string{`5:23: step "a": there is an extendedWait, but onExhausted is error: write onExhausted: wait, or remove extendedWait`}},
		"extendedWait with holes": {step("agent: payment, onExhausted: wait, extendedWait: {then: wait}"), []string{
			`5:42: step "a": extendedWait: for is missing: write for: how long to park, and times: how often`,
			`5:42: step "a": extendedWait: times is missing: write for: how long to park, and times: how often`,
			`5:63: step "a": extendedWait: then "wait" is not known: known values: error, compensate`}},
		"a timer has nothing to undo": {step("wait: 3s, undo: {}, retry: {}, onExhausted: wait"), []string{
			`5:17: step "a": a timer has no undo: remove it`,
			`5:27: step "a": a timer has no retry: remove it`,
			`5:51: step "a": a timer can't be retried, so onExhausted can't be wait: write error or compensate`}},
		"a signal has nothing to undo": {step("signal: go, undo: {}, input: 1"), []string{
			`5:19: step "a": a signal step has no undo: remove it`,
			`5:29: step "a": a signal step has no input: remove it`}},
	})
}

func TestProblemsOfReferences(t *testing.T) {
	t.Parallel()
	const cut = "take one of them out of an after"
	checkProblems(t, map[string]problemCase{
		"unknown step": {head + "steps:\n  charge: {agent: payment}\n  b: {agent: payment, after: [chrge]}\n",
			[]string{`6:31: step "b": after names "chrge", which is not a step: did you mean "charge"? known steps: charge, b`}},
		"itself": {step("agent: payment, after: a"),
			[]string{`5:30: step "a": after names the step itself: name the steps before it`}},
		"the same twice": {head + "steps:\n  a: {agent: payment}\n  b: {agent: payment, after: [a, a]}\n",
			[]string{`6:34: step "b": after names "a" twice: name each step once`}},
		"cycle": {head + "steps:\n  a: {agent: payment, after: [b]}\n  b: {agent: payment, after: [c]}\n  c: {agent: payment, after: [a]}\n",
			[]string{`5:23: step "a": the steps wait for each other: a waits for b waits for c waits for a: ` + cut}},
		"cycle through the step above": {head + "steps:\n  z: {agent: payment}\n  a: {agent: payment, after: [c]}\n  b: {agent: payment}\n  c: {agent: payment}\n",
			[]string{`6:23: step "a": the steps wait for each other: a waits for c waits for b waits for a: ` + cut + "; a step without after waits for the one above it"}},
		"two cycles": {head + "steps:\n  a: {agent: payment, after: [b]}\n  b: {agent: payment, after: [a]}\n  c: {agent: payment, after: [d]}\n  d: {agent: payment, after: [c]}\n", []string{
			`5:23: step "a": the steps wait for each other: a waits for b waits for a: ` + cut,
			`7:23: step "c": the steps wait for each other: c waits for d waits for c: ` + cut}},
		"schema missing":           {head + "input: none.json\n" + oneStep, []string{"4:8: workflow: input schema none.json: reading it: there is no file none.json: put the file beside the definition"}},
		"schema outside":           {head + "input: ../x.json\n" + oneStep, []string{"4:8: workflow: input schema ../x.json: is not a path below the definition: write a path such as schemas/order.json, without .. or a leading /"}},
		"schema not JSON":          {head + "input: broken.json\n" + oneStep, []string{"4:8: workflow: input schema broken.json: it is not JSON: unexpected EOF: correct the schema"}},
		"schema not a schema":      {head + "input: wrong.json\n" + oneStep, []string{"4:8: workflow: input schema wrong.json: /properties/a/minimum: is string, must be number; /type: fits none of the allowed forms: correct the schema"}},
		"schema in several files":  {head + "input: remote.json\n" + oneStep, []string{"4:8: workflow: input schema remote.json: it refers to https://example.com/x.json, but a schema must be in one file: use #/$defs/: correct the schema"}},
		"schema with a bad regexp": {head + "input: regexp.json\n" + oneStep, []string{"4:8: workflow: input schema regexp.json: /pattern: must be a valid regex: correct the schema"}},
		"schema with a number beyond reason": {head + "input: huge.json\n" + oneStep,
			[]string{"4:8: workflow: input schema huge.json: the number 1e999999999 is out of range: correct the schema"}},
	})
}

const oneStep = "steps:\n  a: {agent: payment}\n"

func TestASchemaNeedsSomewhereToReadItFrom(t *testing.T) {
	t.Parallel()
	_, err := workflow.Parse(workflow.Source{Text: []byte(head + "input: a.json\n" + oneStep)})
	want := "definition:4:8: workflow: input schema a.json: there is nowhere to read it from: parse the definition from its directory"
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestAgentsAreUncheckedWhenNobodyListsThem(t *testing.T) {
	t.Parallel()
	if _, err := workflow.Parse(workflow.Source{Text: []byte(step("agent: anybody"))}); err != nil {
		t.Errorf("agents nil: %v", err)
	}
	_, err := workflow.Parse(workflow.Source{Text: []byte(step("agent: anybody")), Agents: []string{}})
	want := `definition:5:14: step "a": agent "anybody" is not known: there are no agents`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Errorf("agents empty (-want +got):\n%s", diff)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	_, err := workflow.Parse(workflow.Source{File: "order.yaml", Text: []byte(head + "steps:\n" + manySteps(30)), Agents: []string{}})
	var problems workflow.Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	if len(problems) != workflow.MaxProblems+1 {
		t.Errorf("got %d problems, want %d and a remark", len(problems), workflow.MaxProblems)
	}
	if got, want := problems[len(problems)-1].String(), "order.yaml: and 10 more problems: correct these first"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
