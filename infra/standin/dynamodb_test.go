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

// childOf makes this test a program that starts DynamoDB Local, says where, and
// waits to be killed.
const childOf = "STANDIN_TEST_CHILD"

func TestOneForAllTestsOfAProcess(t *testing.T) {
	t.Parallel()
	if first, second := standin.DynamoDB(t), standin.DynamoDB(t); first != second {
		t.Errorf("got %s, then %s", first, second)
	}
}

func TestItEndsWithAProcessThatIsKilled(t *testing.T) {
	t.Parallel()
	if os.Getenv(childOf) != "" {
		os.Stdout.WriteString("at " + standin.DynamoDB(t) + "\n")
		<-t.Context().Done()
		return
	}
	standin.DynamoDB(t) // what is missing here is missing there
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), childOf+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var address string
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		address, _ = strings.CutPrefix(lines.Text(), "at http://")
		if !strings.HasPrefix(lines.Text(), "at ") {
			address = ""
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || address == "" {
		t.Fatalf("the child ended with %v and was at %q, want it killed while it had a server", err, address)
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-again.C {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		c.Close()
	}
	t.Errorf("the server at %s outlived its process", address)
}
