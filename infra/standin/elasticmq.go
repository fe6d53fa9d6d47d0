// Package standin starts servers that stand in for services of AWS in tests.
//
// A server is started by the first test of a process that asks for it and serves
// all of them. It ends with the process, however that ends. Its port is its own,
// so processes don't meet. Only tests use this package.
package standin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// elasticMQPatience is how long the start may take.
const elasticMQPatience = time.Minute

// elasticMQUntilEOF runs a command until its own standard input ends, which it
// does when the process that holds the other end is gone, killed or not.
const elasticMQUntilEOF = `"$@" & exec >/dev/null 2>&1; cat; kill -9 $!`

var (
	elasticMQStarted  = sync.OnceValues(startElasticMQ)
	elasticMQAddress  = regexp.MustCompile(`Started SQS rest server, bind address (127\.0\.0\.1:\d+)`)
	errElasticMQUnfit = errors.New("`make standins` installs its jars; it needs Java 17 or later and Maven")
)

// elasticMQServer is ElasticMQ at work. The server lives while life is open,
// and so it must be held on to.
type elasticMQServer struct {
	endpoint string
	life     io.Closer
}

// ElasticMQ returns the endpoint of an ElasticMQ, which speaks like SQS, and
// starts it when it is the first to ask. The queues of all tests of a process are
// in one server: give them names of their own.
//
// Without Java or the jars the test is skipped, but fails when the environment
// has CI=true.
func ElasticMQ(tb testing.TB) (endpoint string) {
	tb.Helper()
	s, err := elasticMQStarted()
	switch {
	case errors.Is(err, errElasticMQUnfit) && os.Getenv("CI") != "true":
		tb.Skipf("LEFT OUT: %s, which runs against ElasticMQ: %v", tb.Name(), err)
	case err != nil:
		tb.Fatalf("starting ElasticMQ: %v", err)
	}
	return s.endpoint
}

func startElasticMQ() (elasticMQServer, error) {
	java, jars, err := findElasticMQ()
	if err != nil {
		return elasticMQServer{}, err
	}
	cmd := exec.Command("sh", "-c", elasticMQUntilEOF, "sh", java,
		"-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData",
		"-Drest-sqs.bind-hostname=127.0.0.1", "-Drest-sqs.bind-port=0", "-Dgenerate-node-address=true",
		"-Drest-stats.enabled=false", "-cp", filepath.Join(jars, "*"), "org.elasticmq.server.Main")
	life, err := cmd.StdinPipe()
	if err != nil {
		return elasticMQServer{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return elasticMQServer{}, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return elasticMQServer{}, err
	}
	s := elasticMQServer{life: life}
	deadline := time.After(elasticMQPatience)
	if s.endpoint, err = elasticMQEndpoint(out, deadline); err == nil {
		err = awaitElasticMQ(s.endpoint, deadline)
	}
	if err != nil {
		return elasticMQServer{}, errors.Join(err, life.Close())
	}
	return s, nil
}

// findElasticMQ returns the Java runtime and the folder of the jars, of which the
// file "installed" says that they are all there.
func findElasticMQ() (java, jars string, err error) {
	root, err := os.Getwd()
	if err != nil {
		return "", "", err
	}
	for parent := ""; ; root = parent {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if parent = filepath.Dir(root); parent == root {
			return "", "", errors.New("no folder above the test has a go.mod")
		}
	}
	if java, err = exec.LookPath("java"); err != nil {
		return "", "", fmt.Errorf("java is missing: %w", errElasticMQUnfit)
	}
	jars = filepath.Join(root, ".local", "standins", "elasticmq")
	if _, err := os.Stat(filepath.Join(jars, "installed")); err != nil {
		return "", "", fmt.Errorf("its jars are missing: %w", errElasticMQUnfit)
	}
	return java, jars, nil
}

// elasticMQEndpoint reads from the log which port the server chose, and the log
// on for as long as the server lives.
func elasticMQEndpoint(log io.Reader, deadline <-chan time.Time) (string, error) {
	found, ended := make(chan string, 1), make(chan string, 1)
	go func() {
		var said strings.Builder
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if said.Len() < 10_000 {
				fmt.Fprintln(&said, lines.Text())
			}
			if m := elasticMQAddress.FindStringSubmatch(lines.Text()); m != nil {
				found <- "http://" + m[1]
				break
			}
		}
		_, _ = io.Copy(io.Discard, log) // a full pipe would stop the server
		ended <- said.String()
	}()
	select {
	case endpoint := <-found:
		return endpoint, nil
	case said := <-ended:
		return "", fmt.Errorf("the server ended, saying:\n%s", said)
	case <-deadline:
		return "", fmt.Errorf("no port in its log within %v", elasticMQPatience)
	}
}

// awaitElasticMQ waits until the server answers.
func awaitElasticMQ(endpoint string, deadline <-chan time.Time) error {
	client := &http.Client{Timeout: 5 * time.Second}
	for again := time.NewTicker(50 * time.Millisecond); ; {
		resp, err := client.Get(endpoint + "/?Action=ListQueues")
		if err == nil {
			if err = resp.Body.Close(); err == nil && resp.StatusCode == http.StatusOK {
				again.Stop()
				return nil
			}
			err = fmt.Errorf("status %s", resp.Status)
		}
		select {
		case <-again.C:
		case <-deadline:
			return fmt.Errorf("no answer within %v: %w", elasticMQPatience, err)
		}
	}
}
