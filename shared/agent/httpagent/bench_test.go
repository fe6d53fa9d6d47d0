package httpagent_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"triad/shared/agent/httpagent"
)

// BenchmarkCall is a call over loopback to a service that does nothing.
func BenchmarkCall(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer srv.Close()
	a, err := httpagent.New(httpagent.Config{Name: "inventory", URL: srv.URL + "/inventory/{task}"})
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Call(b.Context(), request()); err != nil {
			b.Fatal(err)
		}
	}
}
