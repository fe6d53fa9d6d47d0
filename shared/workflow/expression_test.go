package workflow_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/task"
	"triad/shared/workflow"
)

// order is what the expressions of these tests read.
const order = `{
	"customer": "Ada <ada@example.com>", "total": 10.50, "tenth": 0.1, "zero": 0, "paid": true, "note": null,
	"big": 12345678901234567890, "huge": 123456789012345678901234567890, "tiny": 1e-7, "exp": 1.5E3, "beyond": 1e999,
	"items": [{"sku": "b", "quantity": 2, "price": 1.10}, {"sku": "a", "quantity": 10, "price": 20}],
	"numbers": [3, 1, 2.50], "list": [], "index": 1, "with space": "x"
}`

// current is a task whose step before has an output, and whose step skipped
// has none.
func current() task.Task {
	return task.Task{ID: "o-1", Order: json.RawMessage(order), Steps: []task.StepState{
		{Name: "before", State: task.Processed, Output: json.RawMessage(`{"id": "r-1", "amount": 7.0, "ok": true}`)},
		{Name: "left-out", State: task.Skipped},
		{Name: "a", State: task.Processing},
	}}
}

// last compiles a definition whose third step has these fields.
func last(t testing.TB, fields string) task.Step {
	t.Helper()
	d := parse(t, head+"steps:\n  before: {agent: payment}\n  left-out: {agent: payment}\n  a:\n    agent: payment\n    "+fields+"\n")
	return d.Workflow.Steps[2]
}

// single quotes a text for YAML.
func single(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func TestInputOfAWholeText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ expression, want string }{
		"text stays text":                    {`order.customer`, `"Ada <ada@example.com>"`},
		"trailing zero survives":             {`order.total`, `10.50`},
		"tenth survives":                     {`order.tenth`, `0.1`},
		"beyond 63 bits survives":            {`order.big`, `12345678901234567890`},
		"thirty digits survive":              {`order.huge`, `123456789012345678901234567890`},
		"exponents survive":                  {`[order.tiny, order.exp]`, `[1e-7,1.5E3]`},
		"numbers inside survive":             {`order.items[0]`, `{"price":1.10,"quantity":2,"sku":"b"}`},
		"index from the end":                 {`order.items[-1].sku`, `"a"`},
		"index out of the order":             {`order.items[order.index].sku`, `"a"`},
		"slice":                              {`order.numbers[order.index:]`, `[1,2.50]`},
		"filter hands numbers through":       {`filter(order.numbers, # > 1)`, `[3,2.50]`},
		"map hands numbers through":          {`map(order.items, .price)`, `[1.10,20]`},
		"let hands numbers through":          {`let x = order.total; {"x": x}`, `{"x":10.50}`},
		"condition hands numbers through":    {`order.total > 10 ? order.total : order.zero`, `10.50`},
		"?? hands numbers through":           {`order.note ?? order.total`, `10.50`},
		"whole numbers stay whole":           {`order.items[0].quantity * 3`, `6`},
		"arithmetic":                         {`order.total * 2 - 1`, `20`},
		"negative":                           {`-order.total`, `-10.5`},
		"sum of a list":                      {`sum(order.numbers)`, `6.5`},
		"sum with a predicate":               {`sum(order.items, .quantity * .price)`, `202.2`},
		"least and greatest":                 {`[min(order.numbers), max(order.numbers)]`, `[1,3]`},
		"mean of numbers":                    {`mean(order.numbers[:2])`, `2`},
		"sort":                               {`sort(order.numbers)`, `[1,2.5,3]`},
		"sorted by a number, items as given": {`map(sortBy(order.items, .quantity, "desc"), .sku)`, `["a","b"]`},
		"reduce":                             {`reduce(order.numbers, #acc + #, order.zero)`, `6.5`},
		"pipe":                               {`order.items | filter(.quantity >= 10) | len()`, `1`},
		"number in a list":                   {`[3 in order.numbers, 2.5 in order.numbers, 7 in order.numbers]`, `[true,true,false]`},
		"number equals another spelling":     {`order.total == 10.5`, `true`},
		"lists of numbers are equal":         {`order.numbers == [3, 1, 2.5]`, `true`},
		"key in a mapping":                   {`["sku" in order.items[0], "x" in order.items[0]]`, `[true,false]`},
		"string repeats the digits":          {`string(order.total) + "!"`, `"10.50!"`},
		"int and float":                      {`[int(order.total), float(order.zero)]`, `[10,0]`},
		"round":                              {`round(order.total)`, `11`},
		"range":                              {`1..order.items[0].quantity`, `[1,2]`},
		"split":                              {`split(order.customer, " ")[0]`, `"Ada"`},
		"upper and trim":                     {`upper(trim(" a "))`, `"A"`},
		"brackets for odd names":             {`order["with space"]`, `"x"`},
		"missing field is null":              {`order.missing`, `null`},
		"optional chain":                     {`order.missing?.street`, `null`},
		"mapping keys are sorted":            {`{"b": 1, "a": order.paid}`, `{"a":true,"b":1}`},
		"the order itself is small enough":   {`len(order)`, `16`},
		"output of a step":                   {`steps.before.output`, `{"amount":7.0,"id":"r-1","ok":true}`},
		"output of a step, one field":        {`steps.before.output.amount`, `7.0`},
		"a skipped step has no output":       {`steps["left-out"].output`, `null`},
		"and says that it was skipped":       {`steps["left-out"].state`, `"Skipped"`},
		"a brace in a text":                  {`"}" + "{"`, `"}{"`},
		"conditional statement":              {`if order.paid { "paid" } else { "open" }`, `"paid"`},
		"matches a constant pattern":         {`order.customer matches "^Ada"`, `true`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := last(t, "input: "+single("${"+tt.expression+"}")).Input(current())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("${%s} (-want +got):\n%s", tt.expression, diff)
			}
		})
	}
}

func TestInputOfAnyValue(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ input, want string }{
		"keys keep their order":      {`{z: 1, a: "${order.total}", m: {y: "${order.zero}", b: x}}`, `{"z":1,"a":10.50,"m":{"y":0,"b":"x"}}`},
		"list":                       {`[1, "${order.total}", two]`, `[1,10.50,"two"]`},
		"embedded is text":           {`"${order.total} EUR for ${order.customer}"`, `"10.50 EUR for Ada <ada@example.com>"`},
		"space around makes a text":  {`" ${order.total}"`, `" 10.50"`},
		"embedded boolean":           {`"paid=${order.paid} n=${1 + 1} f=${1 / 2}"`, `"paid=true n=2 f=0.5"`},
		"two expressions":            {`"${order.zero}${order.zero}"`, `"00"`},
		"escaped":                    {`"$${order.total} $x ${order.zero}"`, `"${order.total} $x 0"`},
		"constant numbers survive":   {`{a: 12345678901234567890, b: 123456789012345678901234567890, c: 0.10, d: 1e5, e: -0}`, `{"a":12345678901234567890,"b":123456789012345678901234567890,"c":0.10,"d":1e5,"e":-0}`},
		"quoted numbers are text":    {`{a: "1", b: '2'}`, `{"a":"1","b":"2"}`},
		"constants of every kind":    {`{t: true, n: null, s: text, e: "", l: [], m: {}}`, `{"t":true,"n":null,"s":"text","e":"","l":[],"m":{}}`},
		"null":                       {`null`, `null`},
		"no HTML escapes":            {`"<a>&${order.zero}"`, `"<a>&0"`},
		"block text":                 {"|\n      one\n      ${order.zero}", `"one\n0\n"`},
		"mapping in an expression":   {`'${ {"a": {"b": order.zero}} }'`, `{"a":{"b":0}}`},
		"what no queue takes":        {`{"k\uFFFE": "\uFFFF", e: '${"\uFFFE" + "x"}'}`, `{"k\ufffe":"\uffff","e":"\ufffex"}`},
		"quote inside an expression": {`'${"it''s }"}'`, `"it's }"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := last(t, "input: "+tt.input)
			for range 3 { // the same again
				got, err := step.Input(current())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, string(got)); diff != "" {
					t.Errorf("input %s (-want +got):\n%s", tt.input, diff)
				}
			}
		})
	}
}

func TestWithoutInputAndWhenThereIsNothingToAsk(t *testing.T) {
	t.Parallel()
	if step := last(t, "undo: {}"); step.When != nil || step.Input != nil {
		t.Error("a step without when and input has closures")
	}
}

func TestWhen(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		when string
		want bool
	}{
		"more than":                  {"order.total > 0", true},
		"zero is not":                {"order.zero > 0", false},
		"a big number compares":      {"order.big > 1", true},
		"a huge number compares":     {"order.huge >= order.big", true},
		"a field of the order":       {"order.paid", true},
		"not":                        {"not order.paid", false},
		"and or":                     {"order.paid and (order.zero > 0 or order.customer startsWith 'Ada')", true},
		"output of a step":           {"steps.before.output.ok && steps.before.output.amount == 7", true},
		"what a skipped step gave":   {`steps["left-out"].output == nil`, true},
		"state":                      {`steps["left-out"].state == "Skipped"`, true},
		"a missing value, provided":  {"(order.missing?.level ?? 3) > 2", true},
		"any":                        {"any(order.items, .quantity > 5)", true},
		"constant":                   {"true", true},
		"only what is needed counts": {"order.zero == 0 || order.missing.field > 1", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := last(t, "when: "+tt.when).When(current())
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("%s = %t, want %t", tt.when, got, tt.want)
			}
		})
	}
}

func TestWhatGoesWrongLaterNamesTheExpression(t *testing.T) {
	t.Parallel()
	const missing = " (a value is missing: use ?. or ??)"
	tests := map[string]struct{ fields, want string }{
		"when on a missing number":   {"when: order.missing > 0", `deciding when: expression "order.missing > 0": invalid operation: <nil> > int` + missing},
		"when that is a text":        {"when: order.customer", `deciding when: expression "order.customer" gives a text, not true or false`},
		"when that is nothing":       {"when: order.note", `deciding when: expression "order.note" gives nothing (nil), not true or false`},
		"field of nothing":           {`input: "${order.note.street}"`, `making the input: expression "order.note.street": cannot fetch street from <nil>` + missing},
		"field of a number":          {`input: "${order.total.cents}"`, `making the input: expression "order.total.cents": cannot fetch cents from a number`},
		"index out of range":         {`input: "${order.items[9]}"`, `making the input: expression "order.items[9]": index out of range: 9 (array length is 2)`},
		"text plus number":           {`input: "${order.customer + order.total}"`, `making the input: expression "order.customer + order.total": invalid operation: string + float64`},
		"nothing inside a text":      {`input: "for ${order.note}"`, `making the input: expression "order.note": gives nothing (nil) for a piece of a text: use ?? to say what instead`},
		"a list inside a text":       {`input: "for ${order.items}"`, `making the input: expression "order.items": gives a list, which can't be a piece of a text`},
		"division by zero":           {`input: "${1 / order.zero}"`, `making the input: expression "1 / order.zero": the result is not a number that can be sent (a division by zero?)`},
		"remainder by zero":          {`input: "${1 % order.zero}"`, `making the input: expression "1 % order.zero": runtime error: integer divide by zero`},
		"number out of range":        {`input: "${order.beyond + 1}"`, `making the input: expression "order.beyond + 1": the number 1e999 is out of range`},
		"a method out of nowhere":    {`input: "${order.total.native}"`, `making the input: expression "order.total.native": cannot fetch native from a number`},
		"too large a result":         {`input: "${map(1..1000, order)}"`, `making the input: expression "map(1..1000, order)": the input is larger than 65536 bytes`},
		"too large a text":           {`input: {a: "${reduce(1..12, #acc + #acc, order.customer)}"}`, `making the input: expression "reduce(1..12, #acc + #acc, order.customer)": the input is larger than 65536 bytes`},
		"too long a loop":            {`when: "count(1..10000, count(1..10000, true) > 0) > 0"`, `deciding when: expression "count(1..10000, count(1..10000, true) > 0) > 0": it does too much: let an agent compute it`},
		"text that doubles for ever": {`when: 'reduce(1..60, #acc + #acc, "x") == ""'`, `deciding when: expression "reduce(1..60, #acc + #acc, \"x\") == \"\"": it does too much: let an agent compute it`},
		"list that doubles for ever": {`when: "reduce(1..60, [#acc, #acc], 1)[0] == 1"`, `deciding when: expression "reduce(1..60, [#acc, #acc], 1)[0] == 1": it does too much: let an agent compute it`},
		"list that is copied a lot":  {`when: "len(map(1..100000, reverse(1..100000))) == 1"`, `deciding when: expression "len(map(1..100000, reverse(1..100000))) == 1": it does too much: let an agent compute it`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, fmt.Sprint(evaluate(last(t, tt.fields), current()))); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// evaluate asks whichever of When and Input the step has.
func evaluate(s task.Step, t task.Task) error {
	if s.When != nil {
		_, err := s.When(t)
		return err
	}
	_, err := s.Input(t)
	return err
}

func TestOnlyWhatAnExpressionReadsIsDecoded(t *testing.T) {
	t.Parallel()
	damaged := current()
	damaged.Order, damaged.Steps[0].Output = json.RawMessage(`{`), json.RawMessage(`{`)
	tests := map[string]struct{ fields, want string }{
		"constant":       {"input: {a: 1}", "<nil>"},
		"another output": {`input: '${steps["left-out"].output}'`, "<nil>"},
		"state only":     {`when: steps["left-out"].state == "Skipped"`, "<nil>"},
		"the order":      {"when: order.x", `deciding when: expression "order.x": reading the order: unexpected EOF`},
		"the output":     {"when: steps.before.output.x", `deciding when: expression "steps.before.output.x": reading the output of step "before": unexpected EOF`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, fmt.Sprint(evaluate(last(t, tt.fields), damaged))); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATaskOfAnotherDefinitionIsTold(t *testing.T) {
	t.Parallel()
	_, err := last(t, "when: steps.before.output.ok").When(task.Task{})
	want := `deciding when: expression "steps.before.output.ok": the task has no step "before": it was made by another definition`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestProblemsOfExpressions(t *testing.T) {
	t.Parallel()
	const late = " need not have ended when this one starts: let this step come after it, or don't use it"
	checkProblems(t, map[string]problemCase{
		"does not compile":     {step("agent: payment, when: order.total >"), []string{`5:41: step "a": when: expression "order.total >": unexpected token EOF`}},
		"empty":                {step("agent: payment, input: '${ }'"), []string{`5:33: step "a": input: expression " ": is empty: write an expression such as order.total`}},
		"too long":             {step("agent: payment, when: " + strings.Repeat("1+", 500) + "1"), []string{`5:29: step "a": when: expression "` + strings.Repeat("1+", 40) + `...": has 1001 bytes, at most 1000 are allowed: let an agent compute it`}},
		"too many parts":       {step("agent: payment, when: '" + strings.Repeat("!", 990) + "true'"), []string{`5:1023: step "a": when: expression "` + strings.Repeat("!", 80) + `...": compilation failed: expression exceeds maximum allowed nodes`}},
		"unknown name":         {step("agent: payment, when: ordr.total > 3"), []string{`5:29: step "a": when: expression "ordr.total > 3": ordr is not known: an expression sees order and steps, and its own variables`}},
		"marks around a when":  {step("agent: payment, when: '${order.x}'"), []string{`5:30: step "a": when: expression "${order.x}": begins with ${: write the expression without ${ and }`}},
		"no end":               {step("agent: payment, input: 'ab ${order.x'"), []string{`5:34: step "a": input: ${ has no end: close it with }, or write $${ for the characters ${`}},
		"expression in a key":  {step("agent: payment, input: {'a${order.x}': 1}"), []string{`5:31: step "a": input: the key "a${order.x}" has an expression: use ${...} in values only`}},
		"never a boolean":      {step("agent: payment, when: len(order.items) + 1"), []string{`5:29: step "a": when: expression "len(order.items) + 1" is never true or false: write an expression that is true or false, such as order.total > 0`}},
		"known types disagree": {head + "steps:\n  a: {agent: payment}\n  b: {agent: payment, when: steps.a.state + 1 == 2}\n", []string{`6:43: step "b": when: expression "steps.a.state + 1 == 2": invalid operation: + (mismatched types string and int)`}},
		"unknown step": {head + "steps:\n  charge: {agent: payment}\n  b: {agent: payment, input: 'é ${steps.chrge.output}'}\n",
			[]string{`6:35: step "b": input: expression "steps.chrge.output": there is no step "chrge": did you mean "charge"? known steps: charge, b`}},
		"dash without brackets": {head + "steps:\n  cool-off: {wait: 1m}\n  b: {agent: payment, when: steps.cool-off.output == 1}\n", []string{
			`6:29: step "b": when: expression "steps.cool-off.output == 1": there is no step "cool": a name with a dash needs brackets: steps["cool-off"]`,
			`6:40: step "b": when: expression "steps.cool-off.output == 1": off is not known: an expression sees order and steps, and its own variables`}},
		"unknown field of a step": {head + "steps:\n  a: {agent: payment}\n  b: {agent: payment, when: steps.a.outpt == 1}\n",
			[]string{`6:37: step "b": when: expression "steps.a.outpt == 1": unknown field outpt: a step has output and state`}},
		"itself": {step("agent: payment, when: steps.a.output == 1"), []string{`5:29: step "a": when: expression "steps.a.output == 1": step "a"` + late}},
		"a later step": {head + "steps:\n  a: {agent: payment, when: steps.b.output == 1}\n  b: {agent: payment}\n",
			[]string{`5:29: step "a": when: expression "steps.b.output == 1": step "b"` + late}},
		"a parallel step": {head + "steps:\n  a: {agent: payment}\n  b: {agent: payment, after: a}\n  c:\n    after: a\n    agent: payment\n    input:\n      x: [\"${steps.b.output.id}\"]\n",
			[]string{`11:14: step "c": input: expression "steps.b.output.id": step "b"` + late}},
		"no step named":        {step("agent: payment, when: len(steps) > 0"), []string{`5:33: step "a": when: expression "len(steps) > 0": steps is used without the name of a step: write steps.NAME.output or steps["NAME"].output`}},
		"the whole surrounds":  {step("agent: payment, when: '$env.order'"), []string{`5:30: step "a": when: expression "$env.order": $env is not known: an expression sees order and steps, and its own variables`}},
		"the inner workings":   {step("agent: payment, when: '$budget == 1'"), []string{`5:30: step "a": when: expression "$budget == 1": $budget is not known: an expression sees order and steps, and its own variables`}},
		"methods":              {step("agent: payment, when: order.x.String()"), []string{`5:37: step "a": when: expression "order.x.String()": values have no methods: use a function or an operator`}},
		"a pattern from afar":  {step("agent: payment, when: order.x matches order.y"), []string{`5:37: step "a": when: expression "order.x matches order.y": the pattern of matches is not constant: write the pattern in quotes`}},
		"misspelled function":  {step("agent: payment, when: 'lenn(order.items) > 0'"), []string{`5:30: step "a": when: expression "lenn(order.items) > 0": there is no function lenn: did you mean len?`}},
		"a number not in JSON": {step("agent: payment, input: [0x1F, 1_000, 1e999, .inf]"), numberProblems},
	})
}

var numberProblems = []string{
	`5:31: step "a": input: 0x1F is not a number that can be sent: write the number as JSON does, or put it in quotes`,
	`5:37: step "a": input: 1_000 is not a number that can be sent: write the number as JSON does, or put it in quotes`,
	`5:44: step "a": input: 1e999 is not a number that can be sent: write the number as JSON does, or put it in quotes`,
	`5:51: step "a": input: .inf is not a number that can be sent: write the number as JSON does, or put it in quotes`,
}

func TestFunctionsOfTimeChanceAndSizeAreNotThere(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"now()", `date("2024-01-01")`, `duration("1h")`, `timezone("UTC")`, "keys(order)", "values(order)",
		"toPairs(order)", `repeat("x", 9)`, `replace("a", "a", "b")`, `join(order.x, ",")`, "flatten(order.x)", "uniq(order.x)",
		"toJSON(order)", `fromJSON("1")`, "groupBy(order.items, .sku)", "$tick(1, 2)", "env()"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.Parse(workflow.Source{Text: []byte(head + "steps:\n  a:\n    agent: payment\n    input: " + single("${"+call+"}") + "\n")})
			if !strings.Contains(fmt.Sprint(err), "there is no function") {
				t.Errorf("%s: got %v, want that there is no such function", call, err)
			}
		})
	}
}

func TestClosuresMayBeUsedAtTheSameTime(t *testing.T) {
	t.Parallel()
	step := last(t, "when: order.total > 0\n    input: {a: \"${sum(order.items, .quantity)}\", b: \"${order.big} x\"}")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				runs, err := step.When(current())
				if err != nil || !runs {
					t.Errorf("When = %t, %v", runs, err)
				}
				in, err := step.Input(current())
				if want := `{"a":12,"b":"12345678901234567890 x"}`; err != nil || string(in) != want {
					t.Errorf("Input = %s, %v, want %s", in, err, want)
				}
			}
		})
	}
	wg.Wait()
}
