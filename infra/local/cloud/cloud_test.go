package cloud_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/infra/local/cloud"
)

func TestAConfigThatMustNotBeIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config cloud.Config
		want   string
	}{
		"a name that queues can't have": {cloud.Config{Stack: "my stack"}, "letters, digits and hyphens"},
		"a name too long for queues":    {cloud.Config{Stack: strings.Repeat("x", 42)}, "up to 41"},
		"AWS itself":                    {cloud.Config{Endpoint: "https://sqs.us-east-1.amazonaws.com"}, "an emulator"},
		"no URL":                        {cloud.Config{Endpoint: "localhost"}, "an emulator"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.config.Root, c.config.Out = t.TempDir(), io.Discard
			if _, err := cloud.New(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that says %q", err, c.want)
			}
		})
	}
}

func TestWithoutACloudThereIsNothingToOpenOrToStop(t *testing.T) {
	t.Parallel()
	config := cloud.Config{Root: t.TempDir(), Out: io.Discard}
	if _, err := cloud.Open(config); !errors.Is(err, cloud.ErrDown) {
		t.Errorf("got %v, want ErrDown", err)
	}
	c, err := cloud.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Down(t.Context()); err != nil {
		t.Errorf("stopping nothing: %v", err)
	}
	if err := c.Installed(); !errors.Is(err, cloud.ErrMissing) {
		t.Errorf("got %v, want ErrMissing: there are no tools in an empty folder", err)
	}
}

func TestAStateThatCannotBeReadIsTold(t *testing.T) {
	t.Parallel()
	config := cloud.Config{Root: t.TempDir(), Out: io.Discard}
	folder := filepath.Join(config.Root, ".local", "cloud", "run")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "cloud.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := cloud.Open(config); err == nil || !strings.Contains(err.Error(), "reading the state") {
		t.Errorf("got %v, want an error that says so", err)
	}
}

func TestQueuesAreNamedByTheStack(t *testing.T) {
	t.Parallel()
	c, err := cloud.New(cloud.Config{Root: t.TempDir(), Stack: "shop", Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.QueueARN("scheduler"), "arn:aws:sqs:us-east-1:000000000000:shop-scheduler"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
