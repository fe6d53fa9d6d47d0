package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"triad/shared/api"
	"triad/shared/api/apitest"
	"triad/shared/operator"
	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/task"
)

// document is docs/openapi.yaml as far as the tests read it.
type document struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"schemas"`
		Responses map[string]content `json:"responses"`
	} `json:"components"`
}

type operation struct {
	RequestBody content            `json:"requestBody"`
	Responses   map[string]content `json:"responses"`
}

type content struct {
	Ref     string `json:"$ref"`
	Content map[string]struct {
		Schema struct {
			Ref string `json:"$ref"`
		} `json:"schema"`
		Example  json.RawMessage `json:"example"`
		Examples map[string]struct {
			Value json.RawMessage `json:"value"`
		} `json:"examples"`
	} `json:"content"`
}

// openAPI reads the document, as the tests see it and as JSON.
func openAPI(t *testing.T) (doc document, asJSON []byte) {
	t.Helper()
	text, err := os.ReadFile("../../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if asJSON, err = yaml.YAMLToJSON(text); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(asJSON, &doc); err != nil {
		t.Fatal(err)
	}
	return doc, asJSON
}

func TestDocumentHasEveryRouteAndNoOther(t *testing.T) {
	t.Parallel()
	doc, _ := openAPI(t)
	var documented, served []string
	for path, operations := range doc.Paths {
		for method := range operations {
			documented = append(documented, strings.ToUpper(method)+" "+path)
		}
	}
	for _, route := range api.Routes() {
		served = append(served, route.Method+" "+route.Path)
	}
	slices.Sort(documented)
	slices.Sort(served)
	if diff := cmp.Diff(served, documented); diff != "" {
		t.Errorf("routes (-served +documented):\n%s", diff)
	}
}

func TestDocumentHasEveryFieldAndNoOther(t *testing.T) {
	t.Parallel()
	doc, _ := openAPI(t)
	shapes := map[string]any{
		"Submission": task.Submission{}, "Accepted": api.Accepted{}, "Ask": operator.Ask{}, "Summary": api.Summary{},
		"Task": api.Task{}, "Step": api.Step{}, "TaskPage": api.TaskPage{}, "WorkflowList": api.WorkflowList{},
		"Workflow": api.Workflow{}, "WorkflowStep": api.WorkflowStep{}, "Rejected": api.Rejected{},
		"RejectedPage": api.RejectedPage{}, "Correction": api.Correction{}, "Taken": api.Taken{}, "Notice": api.Notice{},
		"NoticePage": api.NoticePage{}, "Alert": api.Alert{}, "AlertPage": api.AlertPage{}, "Health": api.Health{},
		"ErrorBody": api.ErrorBody{}, "Failure": api.Failure{},
		"Examination": api.Examination{}, "Check": api.Check{}, "Finding": api.Finding{},
	}
	for name, schema := range doc.Components.Schemas {
		if len(schema.Properties) == 0 {
			continue // not an object
		}
		shape, found := shapes[name]
		if !found {
			t.Errorf("schema %s is no shape of the API", name)
			continue
		}
		documented := slices.Sorted(maps.Keys(schema.Properties))
		if diff := cmp.Diff(fieldNames(reflect.TypeOf(shape)), documented); diff != "" {
			t.Errorf("fields of %s (-written +documented):\n%s", name, diff)
		}
		delete(shapes, name)
	}
	for name := range shapes {
		t.Errorf("shape %s is not documented", name)
	}
}

// fieldNames are the names of a struct's own fields in JSON.
func fieldNames(shape reflect.Type) []string {
	var names []string
	for field := range shape.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "-" && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestExamplesOfAnswersFitTheirSchemas(t *testing.T) {
	t.Parallel()
	doc, asJSON := openAPI(t)
	fits := schemas(t, asJSON)
	checked := 0
	check := func(where string, c content) {
		for _, body := range c.Content {
			if len(body.Example) > 0 {
				fits(where, body.Schema.Ref, body.Example)
				checked++
			}
		}
	}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			for status, answer := range op.Responses {
				check(method+" "+path+" "+status, answer)
			}
		}
	}
	for name, answer := range doc.Components.Responses {
		check(name, answer)
	}
	if checked < 15 {
		t.Errorf("only %d examples were found", checked)
	}
}

func TestAnswersFitTheirSchemas(t *testing.T) {
	t.Parallel()
	_, asJSON := openAPI(t)
	fits := schemas(t, asJSON)
	d := prepared(t)
	for target, schema := range map[string]string{
		"/v1/tasks":               "TaskPage",
		"/v1/tasks/order-1001":    "Task",
		"/v1/tasks/nobody":        "ErrorBody",
		"/v1/workflows":           "WorkflowList",
		"/v1/rejected":            "RejectedPage",
		"/v1/queues/shop/notices": "NoticePage",
		"/v1/alerts":              "AlertPage",
		"/healthz":                "Health",
		"/v1/doctor":              "Examination",
		"/v1/doctor?full=true":    "Examination",
	} {
		w := serve(d, request("GET", target, ""))
		fits("GET "+target, "#/components/schemas/"+schema, w.Body.Bytes())
	}
}

// schemas returns a check of a JSON text against a schema of the document.
func schemas(t *testing.T, asJSON []byte) func(where, ref string, text []byte) {
	t.Helper()
	resource, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("openapi.json", resource); err != nil {
		t.Fatal(err)
	}
	return func(where, ref string, text []byte) {
		t.Helper()
		schema, err := compiler.Compile("openapi.json" + ref)
		if err != nil {
			t.Fatalf("%s: schema %q: %v", where, ref, err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v\n%s", where, err, text)
		}
	}
}

// prepared is a deployment in which the examples of the document make sense: a
// rejected message 1 and a task order-1001 that has failed.
func prepared(t *testing.T) *apitest.Deployment {
	t.Helper()
	d := apitest.New(t, nil)
	reject := store.Rejected{Queue: queue.Submissions, Reason: "x", At: task.At(apitest.Now),
		Body: []byte(`{"id":"order-1000","workflow":"order","order":{}}`)}
	if err := d.Store.Reject(t.Context(), reject); err != nil {
		t.Fatal(err)
	}
	do(t, d, 202, "POST", "/v1/tasks", `{"id":"order-1001","workflow":"order","order":{"refuse":"charge"},"responseQueue":"shop"}`)
	d.Settle(t)
	return d
}

func TestExampleBodiesAreAccepted(t *testing.T) {
	t.Parallel()
	doc, asJSON := openAPI(t)
	fits := schemas(t, asJSON)
	for path, operations := range doc.Paths {
		for method, op := range operations {
			for name, example := range op.RequestBody.Content["application/json"].Examples {
				if name != "wrong" {
					fits(path+" "+name, op.RequestBody.Content["application/json"].Schema.Ref, example.Value)
				}
				t.Run(path+" "+name, func(t *testing.T) {
					t.Parallel()
					d := example1001(t, path, name)
					target := strings.NewReplacer("{id}", "order-1001", "{verb}", name, "{seq}", "1").Replace(path)
					w := serve(d, request(strings.ToUpper(method), target, string(example.Value), "Content-Type", "application/json"))
					if w.Code < 200 || w.Code > 299 {
						t.Errorf("%s %s %s: got %d %s", method, target, example.Value, w.Code, w.Body)
					}
				})
			}
		}
	}
}

// example1001 is a deployment whose task order-1001 is as the example needs it.
func example1001(t *testing.T, path, name string) *apitest.Deployment {
	t.Helper()
	switch {
	case path == "/v1/tasks":
		return apitest.New(t, nil)
	case path != "/v1/tasks/{id}/{verb}" || name == "resubmit" || name == "undo":
		return prepared(t)
	}
	d := apitest.New(t, nil)
	do(t, d, 202, "POST", "/v1/tasks", `{"id":"order-1001","workflow":"approval","order":{}}`)
	return d
}
