package process_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"triad/infra/local/process"
)

// start runs a shell script detached, and stops it with the test.
func start(t *testing.T, script string) process.Record {
	t.Helper()
	r, err := process.Start(filepath.Join(t.TempDir(), "log"), []string{"PATH=" + os.Getenv("PATH"), "WORD=sesame"}, "/bin/sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// await polls until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for again := time.Tick(10 * time.Millisecond); !holds(); {
		select {
		case <-again:
		case <-deadline:
			t.Fatalf("after 20 s: not %s", what)
		}
	}
}

func TestAProgramIsStoppedWithWhatItStarted(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"ends when asked":         "sleep 300 & sleep 300",
		"ends when killed":        "trap '' TERM; while :; do sleep 1; done",
		"child in another group":  "setsid sleep 300 & wait",
		"program ends, child not": "sleep 300 & trap 'exit 0' TERM; wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, script)
			await(t, "with a child", func() bool { found, err := r.Environment("WORD"); return err == nil && len(found) > 1 })
			children, err := r.Environment("WORD")
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r.Alive() {
				t.Error("the program still runs")
			}
			for pid, word := range children {
				if running(pid) || word != "sesame" {
					t.Errorf("process %d, with the word %q, still runs", pid, word)
				}
			}
			if err := r.Stop(t.Context()); err != nil {
				t.Errorf("stopping it again: %v, want no error", err)
			}
		})
	}
}

// running tells a process from one that is not there, or that has ended and that
// nobody has asked after.
func running(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

func TestOnlyTheVeryProcessIsStopped(t *testing.T) {
	t.Parallel()
	r := start(t, "sleep 300")
	other := r
	other.Started++ // the id was used again
	if other.Alive() {
		t.Error("a process that started at another time is taken for the same")
	}
	if err := other.Stop(t.Context()); err != nil || !r.Alive() {
		t.Errorf("stopping another: %v, and the process runs: %v", err, r.Alive())
	}
}

func TestWhoServesIsKnown(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	stranger := start(t, "sleep 300")
	if serves, err := stranger.Serves(port); err != nil || serves {
		t.Errorf("a process that does not listen on port %d: got %v, %v", port, serves, err)
	}
	if free, err := process.FreePort(port); err != nil || free == port {
		t.Errorf("got port %d, %v, which is taken", free, err)
	}
	free, err := process.FreePort(0)
	if err != nil {
		t.Fatal(err)
	}
	server := start(t, "python3 -m http.server --bind 127.0.0.1 "+strconv.Itoa(free)+" & wait")
	await(t, "served by a child", func() bool { serves, err := server.Serves(free); return err == nil && serves })
}

func TestARecordIsKeptInAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "record.json")
	if _, found, err := process.Load(file); found || err != nil {
		t.Errorf("got %v, %v of a file that is not there", found, err)
	}
	want := process.Record{PID: 1, Started: 2, URL: "http://127.0.0.1:3", Log: "4"}
	if err := want.Save(file); err != nil {
		t.Fatal(err)
	}
	if got, found, err := process.Load(file); !found || err != nil || got != want {
		t.Errorf("got %+v, %v, %v, want %+v", got, found, err, want)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := process.Load(file); err == nil {
		t.Error("a file that is no record is read")
	}
}
