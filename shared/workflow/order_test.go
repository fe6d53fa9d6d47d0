package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/workflow"
	"triad/workflows"
)

func TestOrdersAreCheckedAtTheDoor(t *testing.T) {
	t.Parallel()
	d, err := workflow.ParseFS(workflows.FS, "order.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	const unfit = "the order does not fit workflow order@1: "
	tests := map[string]struct{ order, want string }{
		"right":                  {`{"customer": "c", "items": [{"sku": "a", "quantity": 1}], "total": 0}`, "<nil>"},
		"not JSON":               {`{"customer": }`, "the order is not JSON: invalid character '}' looking for beginning of value"},
		"nothing":                {``, "the order is not JSON: EOF"},
		"two values":             {`{} {}`, "the order is not JSON: there is more after the JSON value"},
		"another type":           {`[]`, unfit + "/: is array, must be object"},
		"missing fields":         {`{"customer": "c"}`, unfit + "/items: is missing; /total: is missing"},
		"unknown field":          {`{"customer": "c", "items": [{"sku": "a", "quantity": 1}], "total": 0, "totl/~": 1}`, unfit + "/totl~1~0: is not a known field"},
		"negative total":         {`{"customer": "c", "items": [{"sku": "a", "quantity": 1}], "total": -0.01}`, unfit + "/total: must be at least 0"},
		"field of an item":       {`{"customer": "c", "items": [{"sku": "a", "quantity": 1}, {"sku": 7, "quantity": 1.5}], "total": 0}`, unfit + "/items/1/quantity: is number, must be integer; /items/1/sku: is number, must be string"},
		"no items":               {`{"customer": "", "items": [], "total": "1"}`, unfit + "/customer: has 0 characters, must have at least 1; /items: has 0 items, must have at least 1; /total: is string, must be number"},
		"the value isn't told":   {`{"customer": "c", "items": [{"sku": "a", "quantity": 1}], "total": 0, "currency": "secret"}`, unfit + "/currency: must match ^[A-Z]{3}$"},
		"number out of range":    {`{"customer": "c", "items": [{"sku": "a", "quantity": 1}], "total": 1e999999999}`, "the order has the number 1e999999999, which is out of range"},
		"number of no magnitude": {`{"customer": "c", "items": [{"sku": "a", "quantity": 1}], "total": 1e-999999999}`, "the order has the number 1e-999999999, which is out of range"},
		"whole in another form":  {`{"customer": "c", "items": [{"sku": "a", "quantity": 1.0}], "total": 1e2}`, "<nil>"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, fmt.Sprint(d.CheckOrder([]byte(tt.order)))); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithoutASchemaAnyJSONWillDo(t *testing.T) {
	t.Parallel()
	d := parse(t, head+oneStep)
	tests := map[string]string{`{"any": [1]}`: "<nil>", `7`: "<nil>", `{`: "the order is not JSON: unexpected EOF",
		`[1e400]`: "the order has the number 1e400, which is out of range"}
	for order, want := range tests {
		if diff := cmp.Diff(want, fmt.Sprint(d.CheckOrder([]byte(order)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", order, diff)
		}
	}
}

func TestWhatDoesNotFitIsSaidInBrief(t *testing.T) {
	t.Parallel()
	d, err := workflow.ParseFS(workflows.FS, "order.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 10_000)
	var order strings.Builder
	order.WriteString(`{"` + long + `": 1`)
	for i := range 100 {
		fmt.Fprintf(&order, `, "unknown%d": 1`, i)
	}
	order.WriteString("}")
	err = d.CheckOrder([]byte(order.String()))
	if err == nil || len(err.Error()) > 500 || !strings.HasSuffix(err.Error(), "and more") {
		t.Errorf("got %d bytes: %v", len(fmt.Sprint(err)), err)
	}
}

func BenchmarkCheckOrder(b *testing.B) {
	d, err := workflow.ParseFS(workflows.FS, "order.yaml", nil)
	if err != nil {
		b.Fatal(err)
	}
	order := []byte(`{"customer": "c", "items": [{"sku": "a", "quantity": 1}, {"sku": "b", "quantity": 2}], "total": 10.50}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.CheckOrder(order); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWhenAndInput(b *testing.B) {
	step := last(b, `when: order.total > 0`+"\n"+`    input: {amount: "${order.total}", reservation: "${steps.before.output.id}"}`)
	now := current()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := step.When(now); err != nil {
			b.Fatal(err)
		}
		if _, err := step.Input(now); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseBundle(b *testing.B) {
	d, err := workflow.ParseFS(workflows.FS, "order.yaml", nil)
	if err != nil {
		b.Fatal(err)
	}
	bundle := d.Bundle()
	for b.Loop() {
		if _, err := workflow.ParseBundle(bundle); err != nil {
			b.Fatal(err)
		}
	}
}
