package remote_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"triad/shared/remote"
)

// BenchmarkPut is a service's own cost, without the network.
func BenchmarkPut(b *testing.B) {
	s := remote.New(remote.Config{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r := httptest.NewRequest(http.MethodPut, "/inventory/o-"+strconv.Itoa(i), strings.NewReader(`{"sku":"A-1"}`))
		r.Header.Set("Idempotency-Key", "k")
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
}
