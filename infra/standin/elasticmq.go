package standin

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"time"
)

// elasticMQAddress is how the log names the port that the server chose.
var elasticMQAddress = regexp.MustCompile(`Started SQS rest server, bind address (127\.0\.0\.1:\d+)\D`)

// StartElasticMQ starts ElasticMQ and returns its endpoint, http://127.0.0.1:PORT,
// once it answers. Its queues are in memory. stop ends it and returns when it has;
// it may be called again. ErrMissing says that it is not installed here.
func StartElasticMQ() (endpoint string, stop func(), err error) {
	// The file says that all jars are there.
	java, complete, err := installed("elasticmq", "installed")
	if err != nil {
		return "", nil, err
	}
	addresses := make(chan string, 1)
	p, err := start(program{seen: lookFor(elasticMQAddress, addresses), command: []string{java,
		"-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData",
		"-Drest-sqs.bind-hostname=127.0.0.1", "-Drest-sqs.bind-port=0", "-Dgenerate-node-address=true",
		"-Drest-stats.enabled=false", "-cp", filepath.Join(filepath.Dir(complete), "*"), "org.elasticmq.server.Main"}})
	if err != nil {
		return "", nil, err
	}
	deadline := time.After(readyWithin)
	select {
	case address := <-addresses:
		endpoint = "http://" + address
		err = awaitElasticMQ(endpoint, deadline)
	case <-p.ended:
		err = fmt.Errorf("it ended: %v", p.err)
	case <-deadline:
		err = fmt.Errorf("no port in its log within %v", readyWithin)
	}
	if err != nil {
		p.stop()
		return "", nil, fmt.Errorf("%w; it said: %s", err, p.said.String())
	}
	return endpoint, p.stop, nil
}

// lookFor sends the first group of the first match, once.
func lookFor(pattern *regexp.Regexp, found chan<- string) func(said string) {
	return func(said string) {
		if found == nil {
			return
		}
		if m := pattern.FindStringSubmatch(said); m != nil {
			found <- m[1]
			found = nil
		}
	}
}

// awaitElasticMQ waits until the server answers.
func awaitElasticMQ(endpoint string, deadline <-chan time.Time) error {
	client := &http.Client{Timeout: 5 * time.Second}
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for {
		answer, err := client.Get(endpoint + "/?Action=ListQueues")
		if err == nil {
			if err = answer.Body.Close(); err == nil && answer.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("status %s", answer.Status)
		}
		select {
		case <-again.C:
		case <-deadline:
			return fmt.Errorf("no answer within %v: %w", readyWithin, err)
		}
	}
}
