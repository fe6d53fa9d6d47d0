package httpagent_test

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/agent/httpagent"
	"triad/workflows"
)

// FuzzParseAgents: no text makes ParseAgents panic, the same text gives the same
// agents, and each of them can be made.
func FuzzParseAgents(f *testing.F) {
	text, err := fs.ReadFile(workflows.FS, "agents.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("agents:\n  a:\n    http: {url: \"${SERVICES_URL:-http://h}/{task}/{key}?q={step}\", success: [200-299, 404], breaker: {failures: 1, open: 1s}}\n    retry: {attempts: 3, first: 1ms, factor: 1.5, max: 1m}\n"))
	f.Add([]byte("agents: {a: {http: {url: 'http://[::1]:80/%zz', headers: {\"x\\n\": y}, body: output, responseLimit: 16KB, timeout: 2s}}}"))
	f.Add([]byte("agents: &a {b: *a}\n---\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := httpagent.ParseAgents("agents.yaml", text, settings)
		if err != nil {
			return
		}
		again, err := httpagent.ParseAgents("agents.yaml", text, settings)
		if err != nil {
			t.Fatalf("parsing it a second time: %v", err)
		}
		if diff := cmp.Diff(len(all), len(again)); diff != "" {
			t.Error(diff)
		}
		for name, c := range all {
			if diff := cmp.Diff(c, again[name]); diff != "" {
				t.Errorf("agent %s (-first +second):\n%s", name, diff)
			}
			if _, err := httpagent.New(c); err != nil {
				t.Errorf("agent %s was accepted and can't be made: %v", name, err)
			}
		}
	})
}
