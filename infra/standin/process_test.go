package standin_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"triad/infra/standin"
)

// childOf makes this test a program that starts the stand-in of that name, says
// where, and waits to be killed.
const childOf = "STANDIN_TEST_CHILD"

func TestOneForAllTestsOfAProcess(t *testing.T) {
	t.Parallel()
	if first, second := standin.DynamoDB(t), standin.DynamoDB(t); first != second {
		t.Errorf("got %s, then %s", first, second)
	}
}

// TestItEndsWithAProcessThatIsKilled, and leaves no file.
func TestItEndsWithAProcessThatIsKilled(t *testing.T) {
	t.Parallel()
	all := map[string]func(testing.TB) string{"DynamoDB": standin.DynamoDB, "MiniStack": standin.MiniStack}
	if name := os.Getenv(childOf); name != "" {
		os.Stdout.WriteString("at " + all[name](t) + "\n")
		<-t.Context().Done()
		return
	}
	test := t.Name()
	for name, start := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start(t) // what is missing here is missing there
			work := t.TempDir()
			address := killedChild(t, test, childOf+"="+name, "TMPDIR="+work)
			again := time.NewTicker(20 * time.Millisecond)
			defer again.Stop()
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-again.C {
				c, err := net.Dial("tcp", address)
				left, unread := os.ReadDir(work)
				switch {
				case err == nil:
					c.Close()
				case unread == nil && len(left) == 0:
					return
				}
			}
			t.Errorf("the server at %s outlived its process, or its files did, in %s", address, work)
		})
	}
}

// killedChild runs one test as a program, and kills it when it has said where its
// server is.
func killedChild(t *testing.T, test string, env ...string) (address string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		if at, found := strings.CutPrefix(lines.Text(), "at http://"); found {
			address = at
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || address == "" {
		t.Fatalf("the child ended with %v and was at %q, want it killed while it had a server", err, address)
	}
	return address
}
