package cloud

import (
	"context"
	"fmt"
	"os"
	"runtime"
)

// Up brings the cloud up: tools, emulator, services, functions, queues. What runs
// already is left running and only brought up to date, so it may be repeated.
//
// When it ends half way, Down removes what there is, and Up goes on from there.
func (c *Cloud) Up(ctx context.Context) error {
	if err := os.MkdirAll(c.file(), 0o700); err != nil {
		return err
	}
	if _, err := c.load(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{c.install, c.start, c.build, c.makeQueues, c.deploy, c.subscribe} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// start starts what must run, and remembers it.
func (c *Cloud) start(ctx context.Context) error {
	old := c.state
	if old.Stack != "" && old.Stack != c.config.Stack {
		return fmt.Errorf("stack %s is up, in %s: `make local-down` first", old.Stack, c.file())
	}
	c.state.Stack = c.config.Stack
	switch endpoint := c.config.Endpoint; {
	case endpoint == "" || old.Ours && endpoint == old.Endpoint:
		if err := c.startEmulator(ctx); err != nil {
			return err
		}
	case old.Ours:
		return fmt.Errorf("an emulator of our own is up at %s, and AWS_ENDPOINT_URL is %s: `make local-down` first", old.Endpoint, endpoint)
	default:
		c.state.Endpoint, c.state.Ours = endpoint, false
		c.note("using the emulator at %s", endpoint)
	}
	if err := c.startServices(ctx); err != nil {
		return err
	}
	return c.save()
}

// build builds the functions, for the processor of this machine.
func (c *Cloud) build(ctx context.Context) error {
	c.note("building the functions")
	err := c.run(ctx, c.outside(), "make", "--no-print-directory", "functions", "BUILD="+c.file("build"), "ARCH="+architecture())
	if err == nil {
		c.note("built")
	}
	return err
}

// architecture is this machine's processor, as Lambda calls it.
func architecture() string {
	if runtime.GOARCH == "amd64" {
		return "x86_64"
	}
	return runtime.GOARCH
}

// deploy makes or updates the stack.
func (c *Cloud) deploy(ctx context.Context) error {
	c.note("deploying the stack %s", c.config.Stack)
	args := append([]string{"deploy", "--template-file", c.file("build", "template.yaml"), "--stack-name", c.config.Stack, "--resolve-s3",
		"--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND", "--no-confirm-changeset", "--no-fail-on-empty-changeset",
		"--parameter-overrides"}, c.parameters()...)
	if err := c.run(ctx, c.outside(), c.tool("sam"), args...); err != nil {
		return err
	}
	c.note("deployed")
	return nil
}
