package standin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"triad/infra/ministack"
	"triad/infra/repository"
)

// StartMiniStack starts MiniStack and returns its endpoint, http://127.0.0.1:PORT,
// once it answers. All that it has is in memory. stop ends it and returns when it
// has; it may be called again. ErrMissing says that it is not installed here.
//
// Functions that are deployed to it are processes which may outlive it: package
// local/cloud is for those.
func StartMiniStack() (endpoint string, stop func(), err error) {
	root, err := repository.Find()
	if err != nil {
		return "", nil, err
	}
	path := ministack.Program(root)
	if _, err := os.Stat(path); err != nil {
		return "", nil, fmt.Errorf("%s %w: %s", path, ErrMissing, withPython)
	}
	return onFreePort(func(port int) (func(), error) { return launchMiniStack(path, port) })
}

// launchMiniStack starts the program, in a folder that is removed with it, and
// returns once it answers by the name that it was given.
func launchMiniStack(path string, port int) (stop func(), err error) {
	folder, err := os.MkdirTemp("", "ministack-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for MiniStack: %w", err)
	}
	c := ministack.Config{Folder: folder, Port: port, Name: rand.Text()}
	env, err := c.Environment()
	if err != nil {
		_ = os.RemoveAll(folder)
		return nil, err
	}
	return launch(program{command: []string{path}, env: env, folder: folder},
		func(ctx context.Context) error { return answersAs(ctx, c.URL()+ministack.Health, c.Name) })
}

// answersAs asks a MiniStack for its health. That of another process, which has
// taken the port, has another name.
func answersAs(ctx context.Context, url, name string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var health struct {
		Edition string `json:"edition"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&health); err != nil {
		return fmt.Errorf("answered %s, and no health: %w", answer.Status, err)
	}
	if answer.StatusCode != http.StatusOK || health.Edition != name {
		return fmt.Errorf("answered %s as %q: another program has taken the port", answer.Status, health.Edition)
	}
	return nil
}
