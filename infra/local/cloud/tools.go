package cloud

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrMissing: a tool that the local cloud needs is not installed.
var ErrMissing = errors.New("is not installed: `make cloud-tools` installs it, and needs Python 3")

// tool is the path of a Python program of infra/requirements.txt.
func (c *Cloud) tool(name string) string {
	return filepath.Join(c.config.Root, ".local", "cloud", "venv", "bin", name)
}

// Installed returns ErrMissing when the pinned Python tools are not there.
func (c *Cloud) Installed() error {
	for _, name := range []string{"sam", "aws", "ministack"} {
		if _, err := os.Stat(c.tool(name)); err != nil {
			return fmt.Errorf("%s %w", name, ErrMissing)
		}
	}
	return nil
}

// install installs them when they are missing.
func (c *Cloud) install(ctx context.Context) error {
	if c.Installed() == nil {
		return nil
	}
	c.note("installing the tools of infra/requirements.txt (once, some minutes)")
	return c.run(ctx, os.Environ(), "make", "--no-print-directory", "cloud-tools")
}

// run runs a program in the repository. What it prints goes to a log and, when it
// fails, into the error.
func (c *Cloud) run(ctx context.Context, env []string, path string, args ...string) error {
	name := filepath.Base(path)
	log, err := os.Create(c.file(name + ".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.config.Root, env, log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running %s %s: %w; it said:\n%s", name, args[0], err, tail(log.Name()))
	}
	return nil
}

// tail is the end of a log. Of a line that was written over and over, it is the
// last.
func tail(file string) string {
	const most = 30 // lines
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = lines[max(0, len(lines)-most):]
	for i, line := range lines {
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}

// outside is the environment of a tool: that of this program but for what it
// knows of AWS, which must not lead anywhere else.
func (c *Cloud) outside(more ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AWS_") && !strings.HasPrefix(v, "SAM_") {
			env = append(env, v)
		}
	}
	return append(append(env,
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_DEFAULT_REGION="+Region,
		"AWS_ENDPOINT_URL="+c.state.Endpoint, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_PAGER=",
		"SAM_CLI_TELEMETRY=0", "SAM_CLI_POLL_DELAY=0.3", "__SAM_CLI_APP_DIR="+c.file("sam"),
	), more...)
}
