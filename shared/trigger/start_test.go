package trigger_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"triad/shared/trigger"
)

// serving makes this program a function instead of a test.
const serving = "TRIAD_TEST_FUNCTION"

func TestMain(m *testing.M) {
	if os.Getenv(serving) == "" {
		os.Exit(m.Run())
	}
	trigger.Start(trigger.NewMessages(trigger.Config{Handle: func(ctx context.Context, m trigger.Message) error {
		deadline, known := ctx.Deadline()
		if left := time.Until(deadline); !known || left < time.Minute || left > time.Hour-time.Second {
			return fmt.Errorf("%v are left: want less than an hour", left)
		}
		if string(m.Body) == "bad" {
			return errHandler
		}
		return nil
	}}))
}

// call is what a function sent to Lambda.
type call struct{ path, kind, body string }

// lambda plays Lambda's runtime interface: it hands out payloads, then nothing
// more, and tells what comes back.
func lambda(t *testing.T, payloads ...[]byte) (address string, came <-chan call) {
	t.Helper()
	calls, next := make(chan call, len(payloads)), make(chan []byte, len(payloads))
	for _, p := range payloads {
		next <- p
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case payload := <-next:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "id")
			w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Hour).UnixMilli()))
			_, _ = w.Write(payload)
		case <-r.Context().Done(): // frozen
		}
	})
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/id/{what}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls <- call{r.PathValue("what"), r.Header.Get("Content-Type"), string(body)}
		w.WriteHeader(http.StatusAccepted)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://"), calls
}

// A real process, started as Lambda starts it.
func TestAFunctionServesLambda(t *testing.T) {
	t.Parallel()
	address, came := lambda(t, event("good", "bad"), []byte(`{}`), event("good"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(stop)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), serving+"=1", "AWS_LAMBDA_RUNTIME_API="+address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it never ends by itself
	})
	for i, want := range []call{
		{"response", "application/json", `{"batchItemFailures":[{"itemIdentifier":"bad"}]}`},
		{"error", "application/json", ""},
		{"response", "application/json", `{"batchItemFailures":[]}`},
	} {
		select {
		case got := <-came:
			if got.path != want.path || got.kind != want.kind || !strings.HasPrefix(got.body, want.body) {
				t.Errorf("call %d is %q, want %q", i, got, want)
			}
		case <-ctx.Done():
			t.Fatal("the function does not answer")
		}
	}
}
