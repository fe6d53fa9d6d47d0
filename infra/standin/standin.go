// Package standin starts the programs that stand in for AWS on this machine:
// DynamoDB Local, AWS's own engine in one Java program, for the tables; ElasticMQ,
// which speaks like SQS, for the queues; and MiniStack, which is all of AWS in one
// Python program, and less like it in each part.
//
// StartDynamoDB, StartElasticMQ and StartMiniStack are for programs. DynamoDB,
// ElasticMQ and MiniStack are for tests: a stand-in is then started by the first
// test of a process that asks, and serves all of them; each makes tables and
// queues of its own. Every stand-in has a port of its own and ends with the
// process, however that ends.
//
// `make standins` installs the Java programs under .local/standins, and
// `make cloud-tools` installs MiniStack under .local/cloud; nothing of them is
// part of the repository. A test whose stand-in is missing is left out, loudly;
// with CI=true it fails.
package standin

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"triad/infra/repository"
)

// How long a stand-in may take to answer, and how often it is asked meanwhile.
const (
	readyWithin = 60 * time.Second
	askEvery    = 50 * time.Millisecond
)

// ErrMissing is why a stand-in can't be started at all on this machine.
var ErrMissing = errors.New("is not installed")

// How to install a stand-in.
const (
	withJava   = "run `make standins` (it needs Java 17 or later, Maven and npm)"
	withPython = "run `make cloud-tools` (it needs Python 3)"
)

// The stand-ins of this process's tests, one of each.
var (
	testDynamoDB  = sync.OnceValues(func() (string, error) { return endpointOf(StartDynamoDB()) })
	testElasticMQ = sync.OnceValues(func() (string, error) { return endpointOf(StartElasticMQ()) })
	testMiniStack = sync.OnceValues(func() (string, error) { return endpointOf(StartMiniStack()) })
)

// DynamoDB returns the endpoint, http://127.0.0.1:PORT, of the DynamoDB Local of
// this test process. Any credentials do. Idempotency tokens live across tables.
// Where Java or the jar is missing, tb is skipped, or fails with CI=true.
func DynamoDB(tb testing.TB) (endpoint string) {
	tb.Helper()
	return leftOutWithout(tb, "DynamoDB Local", testDynamoDB)
}

// OwnDynamoDB is DynamoDB, of tb alone: it ends with tb, and nothing of it is left.
func OwnDynamoDB(tb testing.TB) (endpoint string) {
	tb.Helper()
	return leftOutWithout(tb, "DynamoDB Local", func() (string, error) {
		endpoint, stop, err := StartDynamoDB()
		if err == nil {
			tb.Cleanup(stop)
		}
		return endpoint, err
	})
}

// ElasticMQ returns the endpoint of the ElasticMQ of this test process. The queues
// of all its tests are in one server: give them names of their own. Where Java or
// the jars are missing, tb is skipped, or fails with CI=true.
func ElasticMQ(tb testing.TB) (endpoint string) {
	tb.Helper()
	return leftOutWithout(tb, "ElasticMQ", testElasticMQ)
}

// MiniStack returns the endpoint of the MiniStack of this test process, which is
// that of every service. Any credentials do, and any region. Everything of all its
// tests is in one account: give it names of its own. Where it is not installed, tb
// is skipped, or fails with CI=true.
func MiniStack(tb testing.TB) (endpoint string) {
	tb.Helper()
	return leftOutWithout(tb, "MiniStack", testMiniStack)
}

func leftOutWithout(tb testing.TB, name string, start func() (string, error)) string {
	tb.Helper()
	endpoint, err := start()
	switch {
	case errors.Is(err, ErrMissing) && os.Getenv("CI") != "true":
		tb.Skipf("LEFT OUT: %s, which runs against %s: %v", tb.Name(), name, err)
	case err != nil:
		tb.Fatalf("starting %s: %v", name, err)
	}
	return endpoint
}

// endpointOf leaves the stop out: a test's stand-in ends with the process.
func endpointOf(endpoint string, _ func(), err error) (string, error) { return endpoint, err }

// installed returns the Java runtime, and the only or first match of a pattern of
// paths under .local/standins of the repository that this process runs in.
func installed(pattern ...string) (java, match string, err error) {
	if java, err = exec.LookPath("java"); err != nil {
		return "", "", fmt.Errorf("java %w: %s", ErrMissing, withJava)
	}
	root, err := repository.Find()
	if err != nil {
		return "", "", err
	}
	all := filepath.Join(append([]string{root, ".local", "standins"}, pattern...)...)
	matches, err := filepath.Glob(all)
	if err != nil {
		return "", "", err
	}
	if len(matches) == 0 {
		return "", "", fmt.Errorf("%s %w: %s", all, ErrMissing, withJava)
	}
	return java, matches[0], nil
}
