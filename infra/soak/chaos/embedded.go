package chaos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"triad/infra/port"
	"triad/infra/soak/audit"
	"triad/infra/soak/plan"
	"triad/shared/api/client"
	"triad/shared/remote"
)

// How long a start may take, and how long a submission waits for an answer
// before it is sent again.
const (
	readyWithin = time.Minute
	answers     = 5 * time.Second
	retryEvery  = 100 * time.Millisecond
)

// Embedded is the embedded engine, as a process of its own. The services are in
// the soak's process.
type Embedded struct {
	// Program is the path of bin/triad.
	Program string
	// Folder has the store, the definitions and the log. It must be empty; Stop
	// removes it.
	Folder string

	address  string
	services remote.Client
	quit     context.CancelFunc
	client   *client.Client // for submissions
	patient  *client.Client // for the audit
	log      *os.File

	engine *engine
	starts int
}

// engine is one life of the process.
type engine struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

var _ Form = (*Embedded)(nil)

// Name implements Form.
func (e *Embedded) Name() string { return "embedded" }

// Answers implements Form.
func (e *Embedded) Answers() bool { return true }

// Services implements Form.
func (e *Embedded) Services() remote.Client { return e.services }

// Delay implements Form: a circuit breaker may be open.
func (e *Embedded) Delay() time.Duration { return 15 * time.Second }

// Count implements Form.
func (e *Embedded) Count(r *Report) { r.Starts = e.starts }

// Start implements Form.
func (e *Embedded) Start(ctx context.Context) error {
	if err := plan.Write(e.Folder, true); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	e.services = remote.Client{BaseURL: "http://" + l.Addr().String()}
	serving, quit := context.WithCancel(context.WithoutCancel(ctx))
	e.quit = quit
	go func() { _ = remote.New(remote.Config{Logger: slog.New(slog.DiscardHandler)}).ServeOn(serving, l) }()
	free, err := port.Free()
	if err != nil {
		return err
	}
	e.address = port.Address(free)
	if e.client, err = client.New(client.Config{URL: "http://" + e.address, Connections: waiting, Timeout: answers}); err != nil {
		return err
	}
	if e.patient, err = client.New(client.Config{URL: "http://" + e.address}); err != nil {
		return err
	}
	if e.log, err = os.Create(filepath.Join(e.Folder, "triad.log")); err != nil {
		return err
	}
	return errors.Join(e.run(), e.ready(ctx))
}

// run starts the process. It does not wait until it works: it may be killed
// before.
func (e *Embedded) run() error {
	cmd := exec.Command(e.Program, "dev", "--listen", e.address, "--data", e.data(), "--workflows", e.Folder)
	cmd.Env = []string{"SERVICES_URL=" + e.services.BaseURL, "PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = e.log, e.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt of the soak is not the engine's
	if err := cmd.Start(); err != nil {
		return err
	}
	life := &engine{cmd: cmd, ended: make(chan struct{})}
	e.engine = life
	e.starts++
	go func() { _ = cmd.Wait(); close(life.ended) }()
	return nil
}

func (e *Embedded) data() string { return filepath.Join(e.Folder, "triad.db") }

// ready returns once the engine works.
func (e *Embedded) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for again := time.Tick(retryEvery); e.client.Healthy(ctx) != nil; {
		select {
		case <-again:
		case <-e.engine.ended:
			return fault(audit.Process, "triad dev", "it ended at its start: see %s", e.log.Name())
		case <-ctx.Done():
			return fmt.Errorf("waiting for the engine: %w: see %s", ctx.Err(), e.log.Name())
		}
	}
	return nil
}

// Kill implements Form: the engine is killed, and started again at once.
func (e *Embedded) Kill(context.Context, uint64) (int, error) {
	life := e.engine
	select {
	case <-life.ended:
		if err := e.run(); err != nil {
			return 0, err
		}
		return 0, fault(audit.Process, "triad dev", "it ended before it was killed: see %s", e.log.Name())
	default:
	}
	if err := life.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return 0, err
	}
	<-life.ended
	return 1, e.run()
}

// Freeze implements Form.
func (e *Embedded) Freeze(context.Context, uint64) (int, func(), error) {
	life := e.engine.cmd.Process
	if err := life.Signal(syscall.SIGSTOP); err != nil {
		return 0, nil, fault(audit.Process, "triad dev", "it ended before it was frozen: see %s", e.log.Name())
	}
	return 1, func() { _ = life.Signal(syscall.SIGCONT) }, nil // it is ours, and has not been waited for
}

// Calm implements Form: killed once more, the engine has to find all that is left
// by itself.
func (e *Embedded) Calm(ctx context.Context) (kills int, err error) {
	if kills, err = e.Kill(ctx, 0); err != nil {
		return kills, err
	}
	return kills, e.ready(ctx)
}

// Unfinished implements Form.
func (e *Embedded) Unfinished(ctx context.Context, _ []audit.Order) (n int, err error) {
	for q := (client.Query{Unfinished: true, Limit: 1000}); ; {
		page, err := e.patient.Tasks(ctx, q)
		if n += len(page.Tasks); err != nil || page.Next == "" {
			return n, err
		}
		q.Cursor = page.Next
	}
}

// Stop implements Form. It asks first, and that must do.
func (e *Embedded) Stop(_ context.Context, keep bool) error {
	var err error
	if e.engine != nil {
		_ = e.engine.cmd.Process.Signal(syscall.SIGCONT)
		_ = e.engine.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-e.engine.ended:
		case <-time.After(readyWithin):
			_ = e.engine.cmd.Process.Kill()
			err = errors.New("the engine did not stop when it was asked to")
		}
	}
	if e.quit != nil {
		e.quit()
	}
	if e.log != nil {
		err = errors.Join(err, e.log.Close())
	}
	if !keep {
		err = errors.Join(err, os.RemoveAll(e.Folder))
	}
	return err
}
