package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"triad/infra/local/process"
	"triad/infra/ministack"
)

// The records of what runs.
const (
	emulatorRecord = "ministack.json"
	servicesRecord = "services.json"
)

// The ports that are taken when they are free: LocalStack's, and that of
// `triad services`.
const (
	emulatorPort = 4566
	servicesPort = 7080
)

// How long a program may take to answer, how often it is asked meanwhile, and how
// often it is started again on another port, when somebody took the one chosen.
const (
	readyWithin = 60 * time.Second
	askEvery    = 50 * time.Millisecond
	starts      = 3
)

// errTaken: another program serves on the port.
var errTaken = errors.New("another program has taken the port")

// startEmulator starts MiniStack, unless it runs.
func (c *Cloud) startEmulator(ctx context.Context) error {
	r, err := c.serve(ctx, server{
		name: "MiniStack", record: emulatorRecord, port: emulatorPort, health: ministack.Health,
		start: func(port int) (process.Record, error) {
			env, err := c.emulatorEnvironment(port)
			if err != nil {
				return process.Record{}, err
			}
			return process.Start(c.file("ministack.log"), env, ministack.Program(c.config.Root))
		},
	})
	c.state.Endpoint, c.state.Ours = r.URL, true
	return err
}

// emulatorEnvironment is all that MiniStack knows.
func (c *Cloud) emulatorEnvironment(port int) ([]string, error) {
	through, err := c.config.Between(local(port))
	if err != nil {
		return nil, err
	}
	return ministack.Config{Folder: c.file(), Port: port, Endpoint: through}.Environment()
}

// startServices starts the reference services, unless they run. Functions in
// containers reach them from outside of this machine's loopback.
func (c *Cloud) startServices(ctx context.Context) error {
	if err := c.run(ctx, os.Environ(), "go", "build", "-o", c.file("triad"), "./cmd/triad"); err != nil {
		return err
	}
	host := "127.0.0.1"
	if !c.state.Ours {
		host = ""
	}
	r, err := c.serve(ctx, server{
		name: "the reference services", record: servicesRecord, port: servicesPort, health: "/",
		start: func(port int) (process.Record, error) {
			return process.Start(c.file("services.log"), []string{"PATH=" + os.Getenv("PATH")},
				c.file("triad"), "services", "--listen", host+":"+strconv.Itoa(port))
		},
	})
	c.state.Services = r.URL
	return err
}

// servicesForFunctions is the URL of the services as functions know it.
func (c *Cloud) servicesForFunctions() string {
	host := c.config.ServicesHost
	if host == "" && !c.state.Ours {
		host = "host.docker.internal"
	}
	at, err := url.Parse(c.state.Services)
	if host == "" || err != nil {
		return c.state.Services
	}
	return "http://" + host + ":" + at.Port()
}

// server is a program that serves HTTP.
type server struct {
	name, record, health string
	port                 int
	start                func(port int) (process.Record, error)
}

// serve starts a server, unless the recorded one runs, and returns once it
// answers.
func (c *Cloud) serve(ctx context.Context, s server) (process.Record, error) {
	file := c.file(s.record)
	if r, found, err := process.Load(file); err != nil || found && r.Alive() {
		return r, err
	}
	for n := 1; ; n++ {
		r, err := c.launch(ctx, s, file)
		if err == nil {
			c.note("started %s at %s (process %d)", s.name, r.URL, r.PID)
			return r, nil
		}
		err = errors.Join(err, r.Stop(ctx))
		if n == starts || !errors.Is(err, errTaken) {
			return r, fmt.Errorf("starting %s: %w", s.name, err)
		}
	}
}

// launch starts it once. The record is saved before anybody waits: Down finds it
// even if this program ends now.
func (c *Cloud) launch(ctx context.Context, s server, file string) (process.Record, error) {
	port, err := process.FreePort(s.port)
	if err != nil {
		return process.Record{}, err
	}
	r, err := s.start(port)
	if err != nil {
		return r, err
	}
	r.URL = local(port)
	if err := r.Save(file); err != nil {
		return r, err
	}
	return r, ready(ctx, r, port, s.health)
}

// ready returns once the very process of the record answers on the port.
func ready(ctx context.Context, r process.Record, port int, health string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for again := time.Tick(askEvery); ; {
		asked := ask(ctx, r.URL+health)
		serves, err := r.Serves(port)
		switch {
		case err != nil:
			return err
		case asked == nil && serves:
			return nil
		case !r.Alive() && asked == nil:
			return fmt.Errorf("%w %d", errTaken, port)
		case !r.Alive():
			return fmt.Errorf("it ended, saying: %s", tail(r.Log))
		}
		select {
		case <-again:
		case <-ctx.Done():
			return fmt.Errorf("no answer on port %d within %v; it said: %s", port, readyWithin, tail(r.Log))
		}
	}
}

func ask(ctx context.Context, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", address, answer.Status)
	}
	return nil
}

func local(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }
