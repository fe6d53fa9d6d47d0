package standin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"triad/infra/port"
)

// guarded runs a program and kills it when file 3 is closed: a pipe that this
// process holds, and that nobody holds once it is gone, killed or not. Then it
// removes the folder that is its first argument, if any. An interrupt at the
// terminal reaches it as well: that ends the program by way of this process. The
// shell's own word on a program that was killed would go to a pipe that nobody
// reads any more, and end the shell before its time.
const guarded = `trap '' INT; folder=$1; shift
"$@" & child=$!
(read -r _ <&3; kill -9 $child) >/dev/null 2>&1 &
wait $child 2>/dev/null; code=$?
[ -z "$folder" ] || rm -rf "$folder"
exit $code`

// program is what to run.
type program struct {
	command []string
	// env is the whole environment; nil is that of this process.
	env []string
	// folder is removed when the program has ended; empty is none.
	folder string
	// seen, when not nil, is given what the program has said so far, whenever it
	// says more, and at most the first 10,000 bytes.
	seen func(said string)
}

// process is a program that ends with this process.
type process struct {
	hold  *os.File
	ended chan struct{} // closed when it has ended
	err   error         // how; set before ended is closed
	said  transcript
}

// start runs a program.
func start(r program) (*process, error) {
	life, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer life.Close()
	p := &process{hold: hold, ended: make(chan struct{}), said: transcript{seen: r.seen}}
	cmd := exec.Command("sh", append([]string{"-c", guarded, "sh", r.folder}, r.command...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = r.env, &p.said, &p.said, []*os.File{life}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, hold.Close(), os.RemoveAll(r.folder))
	}
	go func() {
		p.err = cmd.Wait()
		hold.Close() // kept open until then: this is what lets the program live
		close(p.ended)
	}()
	return p, nil
}

// ports is how many ports are tried: another process may take the one that was
// free.
const ports = 5

// onFreePort starts a server on a port of its own.
func onFreePort(launch func(port int) (stop func(), err error)) (endpoint string, stop func(), err error) {
	for range ports {
		var free int
		if free, err = port.Free(); err != nil {
			return "", nil, err
		}
		if stop, err = launch(free); err == nil {
			return "http://" + port.Address(free), stop, nil
		}
	}
	return "", nil, err
}

// launch starts a program and returns once it answers what it is asked.
func launch(r program, ask func(context.Context) error) (stop func(), err error) {
	p, err := start(r)
	if err != nil {
		return nil, err
	}
	if err := p.await(ask); err != nil {
		p.stop()
		return nil, fmt.Errorf("%w; it said: %s", err, p.said.String())
	}
	return p.stop, nil
}

// stop kills the program and returns when it is gone. It may be called again.
func (p *process) stop() {
	p.hold.Close()
	<-p.ended
}

// await returns once asked without an error, or an error when the program has
// ended or takes too long.
func (p *process) await(ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for {
		asked := ask(ctx)
		if asked == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("it ended: %v", p.err)
		case <-ctx.Done():
			return fmt.Errorf("no answer within %v: %w", readyWithin, asked)
		case <-again.C:
		}
	}
}

// transcript keeps the beginning of what a program says and drops the rest.
type transcript struct {
	seen func(said string)

	mu   sync.Mutex
	text strings.Builder
}

// Write never fails: the program must go on however much it says.
func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text.Len() < 10_000 {
		t.text.Write(b[:min(len(b), 10_000-t.text.Len())])
		if t.seen != nil {
			t.seen(t.text.String())
		}
	}
	return len(b), nil
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(t.text.String())
}
