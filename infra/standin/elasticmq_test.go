package standin_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"triad/infra/standin"
)

// TestOneElasticMQServesAllTests of a process, at the same time as well.
func TestOneElasticMQServesAllTests(t *testing.T) {
	t.Parallel()
	first := standin.ElasticMQ(t)
	for range 4 {
		t.Run("test", func(t *testing.T) {
			t.Parallel()
			endpoint := standin.ElasticMQ(t)
			if endpoint != first {
				t.Errorf("the endpoint is %s, want %s as for the first", endpoint, first)
			}
			resp, err := http.Get(endpoint + "/?Action=ListQueues")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), "ListQueuesResponse") {
				t.Errorf("it answers %q, %v, want a list of queues", body, err)
			}
		})
	}
}
