package standin_test

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"triad/infra/standin"
)

// TestAProgramEndsWhatItStarted: each start is a server of its own, and nothing
// answers there once stop has returned.
func TestAProgramEndsWhatItStarted(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func() (string, func(), error){
		"DynamoDB Local": standin.StartDynamoDB,
		"ElasticMQ":      standin.StartElasticMQ,
		"MiniStack":      standin.StartMiniStack,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint, stop, err := start()
			if errors.Is(err, standin.ErrMissing) && os.Getenv("CI") != "true" {
				t.Skipf("LEFT OUT: %s: %v", t.Name(), err)
			}
			if err != nil {
				t.Fatal(err)
			}
			address := strings.TrimPrefix(endpoint, "http://")
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Errorf("nothing answers at %s: %v", endpoint, err)
			} else {
				c.Close()
			}
			stop()
			stop() // once more is allowed
			if c, err := net.Dial("tcp", address); err == nil {
				c.Close()
				t.Errorf("something answers at %s after the stop", endpoint)
			}
		})
	}
}
