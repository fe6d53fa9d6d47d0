// Package ministack says how MiniStack is run on this machine. MiniStack stands in
// for all of AWS at once; it is one Python program. Tests run one for as long as
// they take (package standin), the local cloud runs one until it is taken down
// (package local/cloud): both start the same program in the same surroundings.
//
// MiniStack is given an environment of its own and nothing else. The functions
// that it runs inherit all of it: whatever else were there could hide that the
// template lacks a variable.
//
// `make cloud-tools` installs it, in the version of infra/requirements.txt, under
// .local/cloud; nothing of it is part of the repository.
package ministack

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Health is the path at which MiniStack answers with status 200 once it serves.
// The answer has Config.Name as its "edition".
const Health = "/_ministack/health"

// noNagle makes MiniStack's Lambda runtime answer at once: it sends an answer in
// two pieces, and waits some 40 ms with the second.
const noNagle = `import socketserver
socketserver.StreamRequestHandler.disable_nagle_algorithm = True
`

// Program is the path of the program in a repository, given its root.
func Program(root string) string {
	return filepath.Join(root, ".local", "cloud", "venv", "bin", "ministack")
}

// Config says where MiniStack works.
type Config struct {
	// Folder has what it writes, and is made when it is missing. Required.
	Folder string
	// Port of 127.0.0.1 that it serves on. Required. On a port that is taken it
	// ends at once.
	Port int
	// Endpoint is the URL at which its functions reach AWS. Defaults to its own.
	Endpoint string
	// Name is what it calls itself when it is asked for its health: with a name
	// that nobody else has, it proves that no other program answers. Defaults to
	// MiniStack's own word.
	Name string
}

// URL is where it serves.
func (c Config) URL() string { return "http://127.0.0.1:" + strconv.Itoa(c.Port) }

// Environment writes what MiniStack reads into the folder, and returns all of the
// environment that it is to be started with.
func (c Config) Environment() ([]string, error) {
	for _, dir := range []string{c.in("tmp"), c.in("home"), c.in("python")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making a folder for MiniStack: %w", err)
		}
	}
	if err := os.WriteFile(c.in("python", "sitecustomize.py"), []byte(noNagle), 0o600); err != nil {
		return nil, fmt.Errorf("writing a module for MiniStack: %w", err)
	}
	env := []string{
		"AWS_ENDPOINT_URL=" + cmp.Or(c.Endpoint, c.URL()),
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.in("home"), "TMPDIR=" + c.in("tmp"), "STATE_DIR=" + c.in("tmp", "state"),
		"PYTHONPATH=" + c.in("python"), "PYTHONDONTWRITEBYTECODE=1",
		"BIND_HOST=127.0.0.1", "MINISTACK_HOST=127.0.0.1", "GATEWAY_PORT=" + strconv.Itoa(c.Port),
		"LAMBDA_EXECUTOR=local", "IOT_MTLS_ENABLED=0", "SFTP_ENABLED=0", "LOG_LEVEL=WARNING",
	}
	if c.Name != "" {
		env = append(env, "MINISTACK_EDITION="+c.Name)
	}
	return env, nil
}

func (c Config) in(elements ...string) string {
	return filepath.Join(append([]string{c.Folder}, elements...)...)
}
