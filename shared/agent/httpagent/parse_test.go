package httpagent_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/agent/httpagent"
	"triad/shared/task"
)

func settings(name string) (string, bool) {
	s, ok := map[string]string{"SERVICES_URL": "http://shop:9", "TOKEN": "s3cret", "EMPTY": ""}[name]
	return s, ok
}

func TestAgentsFile(t *testing.T) {
	t.Parallel()
	const text = `
agents:
  inventory:
    http:
      url: "${SERVICES_URL:-http://127.0.0.1:7080}/inventory/{task}"
      method: POST
      headers: {X-Shop: demo, Authorization: "Bearer ${TOKEN}"}
      body: none
      undo: {method: PUT, url: "http://${EMPTY:-other}/{key}", body: output, success: [200, 404]}
      success: [200-201, 204]
      permanent: [404, 409]
      transient: [500-599]
      timeout: 2s
      responseLimit: 16KB
      concurrency: 8
      breaker: {failures: 3, open: 500ms}
    retry: {attempts: 5, first: 10ms, factor: 1.5, max: 1s}
  payment:
    http: {url: "http://pay"}
`
	got, err := httpagent.ParseAgents("agents.yaml", []byte(text), settings)
	if err != nil {
		t.Fatal(err)
	}
	codes := func(c ...httpagent.Codes) []httpagent.Codes { return c }
	want := map[string]httpagent.Config{
		"inventory": {
			Name: "inventory", URL: "http://shop:9/inventory/{task}", Method: "POST",
			Headers: map[string]string{"X-Shop": "demo", "Authorization": "Bearer s3cret"}, Body: httpagent.BodyNone,
			Undo: httpagent.Undo{Method: "PUT", URL: "http://other/{key}", Body: httpagent.BodyOutput,
				Success: codes(httpagent.Codes{From: 200, To: 200}, httpagent.Codes{From: 404, To: 404})},
			Success:   codes(httpagent.Codes{From: 200, To: 201}, httpagent.Codes{From: 204, To: 204}),
			Permanent: codes(httpagent.Codes{From: 404, To: 404}, httpagent.Codes{From: 409, To: 409}),
			Transient: codes(httpagent.Codes{From: 500, To: 599}),
			Timeout:   2 * time.Second, ResponseLimit: 16 << 10, Concurrency: 8,
			Breaker: httpagent.Breaker{Failures: 3, Open: 500 * time.Millisecond},
			Retry:   task.Retry{Attempts: 5, First: 10 * time.Millisecond, Factor: 1.5, Max: time.Second},
		},
		"payment": {Name: "payment", URL: "http://pay"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
}

// Each text stands below "    http:\n      url: http://shop/{task}\n" of agent a, in line 5.
func TestADirectoryWithoutAgentsIsAFault(t *testing.T) {
	t.Parallel()
	_, err := httpagent.Load(fstest.MapFS{}, nil)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), httpagent.File) {
		t.Errorf("error is %v, want it to name %s", err, httpagent.File)
	}
}

func TestFaultsOfAnAgentsFile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"unknown field":         {"      tiemout: 2s", "f.yaml:5:7: agents.a.http.tiemout: unknown field: use one of body, breaker, concurrency"},
		"bad duration":          {"      timeout: 2x", `f.yaml:5:16: agents.a.http.timeout: "2x" is not a duration: write 500ms, 2s or 1m`},
		"duration out of range": {"      timeout: 48h", "f.yaml:5:16: agents.a.http.timeout: 48h0m0s is out of range"},
		"bad size":              {"      responseLimit: 64 apples", `f.yaml:5:22: agents.a.http.responseLimit: "64 apples" is not a size: write 512B, 64KB or 1MB`},
		"size out of range":     {"      responseLimit: 9MB", "f.yaml:5:22: agents.a.http.responseLimit: 9437184 is out of range"},
		"bad number":            {"      concurrency: many", `"many" is not a whole number: write one from 1 to 10000`},
		"number out of range":   {"      concurrency: 0", "0 is out of range: write a number from 1 to 10000"},
		"bad code":              {"      success: [200, 2xx]", `f.yaml:5:22: agents.a.http.success[1]: "2xx" is not a code: write a status code (404) or a range (500-599)`},
		"code out of range":     {"      success: [99]", "is not a code"},
		"range backwards":       {"      success: [299-200]", "is not a code"},
		"list expected":         {"      success: 200", "f.yaml:5:7: agents.a.http.success: must be a list: write [a, b]"},
		"object expected":       {"      breaker: 10", "f.yaml:5:7: agents.a.http.breaker: must be an object"},
		"text expected":         {"      method: [PUT]", "f.yaml:5:7: agents.a.http.method: must be a text or a number"},
		"bad method":            {"      method: put", `f.yaml:5:15: agents.a.http.method: "put" is not a method: write one of PUT, POST`},
		"bad body":              {"      body: output", `"output" is not a body: write one of ["input" "none"]`},
		"codes in two lists":    {"      permanent: [204]", "f.yaml:2:3: agents.a: field Success, Permanent, Transient: code 204 is in success and in permanent"},
		"header of ours":        {"      headers: {idempotency-key: x}", "header Idempotency-Key is set by the agent: leave it out"},
		"bad header name":       {"      headers: {\"a b\": x}", `"a b" is not the name of a header`},
		"bad header value":      {"      headers: {X-A: \"s3cret\\n\"}", "header X-A: its value has a control character: remove it"},
		"absent setting":        {"      headers: {X-A: \"${NOPE}\"}", "f.yaml:5:22: agents.a.http.headers.X-A: setting NOPE is absent: set it, or write ${NOPE:-default}"},
		"empty setting":         {"      headers: {X-A: \"${EMPTY}\"}", "setting EMPTY is absent"},
		"bad setting":           {"      headers: {X-A: \"${no\"}", "has a ${ that is no setting"},
		"bad retry":             {"    retry: {attempts: 0}", "f.yaml:5:23: agents.a.retry.attempts: 0 is out of range"},
		"bad factor":            {"    retry: {factor: 0.5}", `"0.5" is not a factor: write a number from 1 to 100`},
		"double field":          {"      timeout: 1s\n      timeout: 2s", `f.yaml:6:7: not YAML: mapping key "timeout" already defined`},
		"tab":                   {"\ttimeout: 1s", "f.yaml:5:1: not YAML"},
		"alias":                 {"      timeout: *t", "must be a text or a number"},
		"merge":                 {"      <<: {timeout: 1s}", "key must be plain text"},
		"bad agent name":        {"  Bad_Name:\n    http: {url: http://x}", `f.yaml:5:3: agents.Bad_Name: agent name "Bad_Name": write 1 to 63 of a-z 0-9 -`},
		"no http":               {"  b: {retry: {attempts: 2}}", "f.yaml:5:3: agents.b: has no http"},
		"no url":                {"  b: {http: {timeout: 2s}}", "f.yaml:5:7: agents.b.http: has no url"},
		"second document":       {"---\nagents: {}", "f.yaml:1:1: must have one document"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "agents:\n  a:\n    http:\n      url: http://shop/{task}\n" + tc.text + "\n"
			_, err := httpagent.ParseAgents("f.yaml", []byte(text), settings)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got  %v\nwant %s", err, tc.want)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error tells a secret: %v", err)
			}
		})
	}
}

func TestFaultsOfAURL(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"shop/{task}":            "is not absolute",
		"ftp://shop/{task}":      "is not absolute",
		"http://":                "is not absolute",
		"http://u:p@shop/":       "url has a user or password",
		"http://shop/#top":       "has a fragment",
		"http://shop/{order}":    "unknown variable {order}: use {task}, {step}, {key} or {tenant}",
		"http://shop/{task":      "unknown variable",
		"http://shop/task}":      "has a } without a {",
		"http://{tenant}/x":      "has a variable before its path",
		"http://{tenant}.shop/x": "has a variable before its path",
		"http://shop:{task}/x":   "can't be read",
		"http://shop.{tenant}":   "has a variable before its path",
		"{task}":                 "is not absolute",
		"http://shop?x={task}":   "has a variable before its path",
		"http://shop/%zz":        "can't be read",
	}
	for url, want := range tests {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			_, err := httpagent.ParseAgents("f.yaml", []byte("agents:\n  a:\n    http:\n      url: \""+url+"\"\n"), nil)
			if err == nil || !strings.Contains(err.Error(), "f.yaml:4:12: agents.a.http.url: ") || !strings.Contains(err.Error(), want) {
				t.Errorf("file: got %v, want %q at 4:12", err, want)
			}
			_, err = httpagent.New(httpagent.Config{Name: "a", URL: url})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("config: got %v, want %q", err, want)
			}
		})
	}
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	const text = "agents:\n  a: {http: {url: x, timeout: 5}, retrie: {}}\n  b: {}\n"
	_, err := httpagent.ParseAgents("f.yaml", []byte(text), nil)
	if err == nil || strings.Count(err.Error(), "f.yaml:") != 4 {
		t.Errorf("got %v, want four faults", err)
	}
	for _, empty := range []string{"", "# nothing\n", "{}", "agents: {}", "[]", "agents: []", "other: {}"} {
		if _, err := httpagent.ParseAgents("f.yaml", []byte(empty), nil); err == nil {
			t.Errorf("%q was read as an agents file", empty)
		}
	}
}

func TestConfigNamesItsFault(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*httpagent.Config){
		"field Name":             func(c *httpagent.Config) { c.Name = "" },
		"field Method":           func(c *httpagent.Config) { c.Method = "STEAL" },
		"field Undo.URL":         func(c *httpagent.Config) { c.Undo.URL = "x" },
		"field Body":             func(c *httpagent.Config) { c.Body = httpagent.BodyOutput },
		"field Timeout":          func(c *httpagent.Config) { c.Timeout = -1 },
		"field Concurrency":      func(c *httpagent.Config) { c.Concurrency = -1 },
		"field Breaker.Failures": func(c *httpagent.Config) { c.Breaker.Failures = -1 },
		"field Headers":          func(c *httpagent.Config) { c.Headers = map[string]string{"Host": "x"} },
	} {
		c := httpagent.Config{Name: "a", URL: "http://x"}
		change(&c)
		if _, err := httpagent.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestSampleAgentsAreReadable(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "..", "workflows", "agents.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	agents, err := httpagent.ParseAgents(file, text, settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"inventory", "payment", "shipping", "notification", "accounts", "packages", "transports", "drones", "deliveries"} {
		c, ok := agents[name]
		if want := "http://shop:9/" + name + "/{task}"; !ok || c.URL != want {
			t.Errorf("agent %s: got url %q, want %q", name, c.URL, want)
		}
		if _, err := httpagent.New(c); err != nil {
			t.Error(err)
		}
	}
}
