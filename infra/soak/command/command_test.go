package command_test

import (
	"bytes"
	"strings"
	"testing"

	"triad/infra/soak/command"
)

func TestCommandLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		code int
		says string
	}{
		"--help":       {0, "--seed"},
		"--for 1ms":    {2, "at least 1s"},
		"--rate -1":    {2, "--rate"},
		"--rate 5000":  {2, "--rate"},
		"--for always": {2, "see --help"},
		"--nonsense":   {2, "see --help"},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			var out, err bytes.Buffer
			code := command.Run(t.Context(), command.Env{Stdout: &out, Stderr: &err}, strings.Fields(line))
			if said := out.String() + err.String(); code != want.code || !strings.Contains(said, want.says) {
				t.Errorf("got %d, want %d with %q:\n%s", code, want.code, want.says, said)
			}
		})
	}
}
