package command_test

import (
	"bytes"
	"strings"
	"testing"

	"triad/infra/local/command"
)

func TestTheCommandLineSaysWhatThereIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args   []string
		lookup map[string]string
		code   int
		says   string
	}{
		"nothing":              {code: 0, says: "AWS_ENDPOINT_URL"},
		"help of a command":    {args: []string{"up", "--help"}, code: 0, says: "--stack"},
		"unknown command":      {args: []string{"away"}, code: 2, says: "see --help"},
		"unknown flag":         {args: []string{"down", "--now"}, code: 2, says: "see --help"},
		"endpoint that is AWS": {args: []string{"up"}, lookup: map[string]string{"AWS_ENDPOINT_URL": "https://amazonaws.com"}, code: 1, says: "an emulator"},
		"stack without a name": {args: []string{"up", "--stack", "a b"}, code: 1, says: "letters, digits and hyphens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			code := command.Run(t.Context(), command.Env{
				Stdout: &out, Stderr: &out, Lookup: func(name string) (string, bool) { v, found := c.lookup[name]; return v, found },
			}, c.args)
			if code != c.code || !strings.Contains(out.String(), c.says) {
				t.Errorf("got code %d, want %d, and this should say %q:\n%s", code, c.code, c.says, &out)
			}
		})
	}
}
