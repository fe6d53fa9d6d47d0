package standin

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// guarded runs a program and kills it when file 3 is closed: a pipe that this
// process holds, and that nobody holds once it is gone, killed or not.
const guarded = `"$@" & child=$!; (read -r _ <&3; kill -9 $child) >/dev/null 2>&1 & wait $child`

// process is a program that ends with this process.
type process struct {
	hold  *os.File
	ended chan struct{} // closed when it has ended
	err   error         // how; set before ended is closed
	said  transcript
}

// start runs a program. seen, when not nil, is given what the program has said so
// far, whenever it says more, and at most the first 10,000 bytes.
func start(seen func(said string), command ...string) (*process, error) {
	life, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer life.Close()
	p := &process{hold: hold, ended: make(chan struct{}), said: transcript{seen: seen}}
	cmd := exec.Command("sh", append([]string{"-c", guarded, "sh"}, command...)...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = &p.said, &p.said, []*os.File{life}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, hold.Close())
	}
	go func() {
		p.err = cmd.Wait()
		hold.Close() // kept open until then: this is what lets the program live
		close(p.ended)
	}()
	return p, nil
}

// stop kills the program and returns when it is gone. It may be called again.
func (p *process) stop() {
	p.hold.Close()
	<-p.ended
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
