// Package cloud runs the functions of template.yaml on this machine: it builds
// and deploys them, as SAM does it on AWS, to an emulator of AWS.
//
// The emulator is MiniStack, which needs no account and no containers and is
// started here; or any other that AWS_ENDPOINT_URL names, such as LocalStack, to
// which the same template is deployed. Beside it run the reference services that
// the agents call. All of it goes on when the program that started it ends, until
// Down. What is needed to find it again, logs included, is in one folder under
// .local/cloud.
//
// No call can reach AWS itself: the credentials are those of emulators.
package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"triad/infra/local/process"
)

// The region and the account of everything in an emulator.
const (
	Region  = "us-east-1"
	Account = "000000000000"
)

// ErrDown: there is no local cloud in the folder.
var ErrDown = errors.New("the local cloud is not up: `make local-up` starts it")

// Config says what to run. Root and Out are required.
type Config struct {
	// Root is the folder of the repository.
	Root string
	// Stack is the stack's name; the names of its queues and functions begin
	// with it. Defaults to "triad-local".
	Stack string
	// Folder has the state of this cloud, below .local/cloud of Root. Clouds in
	// different folders know nothing of each other. Defaults to "run".
	Folder string
	// Endpoint is the URL of an emulator that runs already. Defaults to none:
	// MiniStack is started.
	Endpoint string
	// ServicesHost is the name by which functions reach this machine. Defaults
	// to 127.0.0.1, where MiniStack runs them, and to host.docker.internal with
	// an Endpoint.
	ServicesHost string
	// Between returns the URL that functions call instead of the emulator's,
	// which it is given, before the emulator starts. Defaults to the emulator's
	// own. It has no effect with an Endpoint.
	Between func(emulator string) (string, error)
	// Parameters of the template, in addition to those that a local cloud needs.
	Parameters map[string]string
	// Out gets progress, one line for each thing done.
	Out io.Writer
}

// ResponseQueues are the names, without the stack's, of the application's queues
// that Up makes: those of the sample orders.
func ResponseQueues() []string { return []string{"shop", "fleet"} }

// AlertsQueue is the name, without the stack's, of the queue that Up subscribes
// to the topic of alerts, in the place of an operator.
const AlertsQueue = "operators"

// Cloud is a local cloud. Its methods may be called one after the other.
type Cloud struct {
	config  Config
	started time.Time
	state   state
}

// state is what is kept between programs.
type state struct {
	Stack string `json:"stack"`
	// Endpoint is the emulator's URL, and Ours whether Up started it.
	Endpoint string `json:"endpoint"`
	Ours     bool   `json:"ours"`
	// Services is the URL of the reference services, for this machine.
	Services string `json:"services"`
}

var stackName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]{0,40}$`)

// New checks the config and returns its cloud. It starts nothing.
func New(c Config) (*Cloud, error) {
	c.Stack, c.Folder = cmp.Or(c.Stack, "triad-local"), cmp.Or(c.Folder, "run")
	if !stackName.MatchString(c.Stack) {
		return nil, fmt.Errorf("stack %q: a name has letters, digits and hyphens, begins with a letter, and has up to 41 characters", c.Stack)
	}
	if c.Endpoint != "" {
		at, err := url.Parse(c.Endpoint)
		if err != nil || at.Host == "" || strings.HasSuffix(at.Hostname(), "amazonaws.com") {
			return nil, fmt.Errorf("endpoint %q: give the URL of an emulator, as http://127.0.0.1:4566", c.Endpoint)
		}
	}
	if c.Between == nil {
		c.Between = func(emulator string) (string, error) { return emulator, nil }
	}
	return &Cloud{config: c, started: time.Now()}, nil
}

// Open returns a cloud that is up, for its stack and endpoint as they are. It
// returns ErrDown when there is none.
func Open(c Config) (*Cloud, error) {
	cloud, err := New(c)
	if err != nil {
		return nil, err
	}
	found, err := cloud.load()
	if err == nil && !found {
		err = ErrDown
	}
	if err != nil {
		return nil, err
	}
	cloud.config.Stack = cloud.state.Stack
	return cloud, nil
}

// Stack is the stack's name.
func (c *Cloud) Stack() string { return c.config.Stack }

// Endpoint is the URL of the emulator.
func (c *Cloud) Endpoint() string { return c.state.Endpoint }

// Services is the URL of the reference services.
func (c *Cloud) Services() string { return c.state.Services }

// Emulator is the process of the MiniStack that Up started. found is false when
// it is another emulator.
func (c *Cloud) Emulator() (r process.Record, found bool, err error) {
	return process.Load(c.file(emulatorRecord))
}

// Repository is the path of a file of the repository.
func (c *Cloud) Repository(elements ...string) string {
	return filepath.Join(append([]string{c.config.Root}, elements...)...)
}

// file is the path of a file of the state.
func (c *Cloud) file(elements ...string) string {
	return filepath.Join(append([]string{c.config.Root, ".local", "cloud", c.config.Folder}, elements...)...)
}

// load reads what an earlier Up wrote.
func (c *Cloud) load() (found bool, err error) {
	text, err := os.ReadFile(c.file("cloud.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &c.state)
	}
	if err != nil {
		return false, fmt.Errorf("reading the state of the local cloud: %w", err)
	}
	return true, nil
}

func (c *Cloud) save() error {
	text, err := json.Marshal(c.state)
	if err != nil {
		return err
	}
	return os.WriteFile(c.file("cloud.json"), append(text, '\n'), 0o600)
}

// note prints a line of progress, with the time since the start.
func (c *Cloud) note(format string, args ...any) {
	_, _ = fmt.Fprintf(c.config.Out, "%6.1f s  %s\n", time.Since(c.started).Seconds(), fmt.Sprintf(format, args...))
}

// parameters of the template, as the SAM CLI takes them.
func (c *Cloud) parameters() []string {
	var arns []string
	for _, q := range ResponseQueues() {
		arns = append(arns, c.QueueARN(q))
	}
	all := map[string]string{
		"LambdaArchitecture": architecture(),
		"ServicesUrl":        c.servicesForFunctions(),
		"ResponseQueueArns":  strings.Join(arns, ","),
		"SweepSeconds":       "5",
		"Protect":            "false", // so that the stack can be deleted
		"RequireTLS":         "false", // an emulator has none
		"Dashboard":          "false", // LocalStack has none
	}
	maps.Copy(all, c.config.Parameters)
	var words []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		words = append(words, name+"="+all[name])
	}
	return words
}

// QueueARN is the ARN of a queue by its name without the stack's.
func (c *Cloud) QueueARN(name string) string {
	return fmt.Sprintf("arn:aws:sqs:%s:%s:%s-%s", Region, Account, c.config.Stack, name)
}

// Down ends what Up started and removes what it left: with MiniStack, that is
// everything; of another emulator, the stack and the queues. That nothing is up
// is no error.
func (c *Cloud) Down(ctx context.Context) error {
	found, err := c.load()
	if err != nil {
		return err
	}
	if found {
		c.config.Stack = c.state.Stack
	}
	if found && !c.state.Ours {
		if err := c.undeploy(ctx); err != nil {
			return err
		}
	}
	for _, file := range []string{emulatorRecord, servicesRecord} {
		r, started, err := process.Load(c.file(file))
		if err != nil {
			return err
		}
		if !started {
			continue
		}
		if err := r.Stop(ctx); err != nil {
			return err
		}
		c.note("stopped %s", r.URL)
	}
	return os.RemoveAll(c.file())
}
