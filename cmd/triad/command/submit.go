package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/shared/api"
	"triad/shared/api/client"
	"triad/shared/task"
)

// SubmitCommand submits what a file holds.
type SubmitCommand struct {
	File     string        `arg:"" help:"File with submissions; - reads standard input."`
	Wait     bool          `help:"Wait until every task has ended; fail when one did not end Processed."`
	Timeout  time.Duration `default:"10m" help:"How long to wait with --wait (${default})."`
	Parallel int           `default:"16" help:"How many submissions may be under way at once, 1 to 256 (${default})."`
}

// Help is the detailed help.
func (SubmitCommand) Help() string {
	return `The file holds one JSON object, a JSON array of them, or JSON lines:

  {"id":"order-1","workflow":"order","order":{"total":10},"responseQueue":"shop"}

Submitting the same again is safe: it counts once. What is refused is told with its line and field, and the others are submitted all the same.

Examples:

  triad submit order.json --wait --timeout 1m
  generate-orders | triad submit - --json > results.jsonl`
}

// Validate checks the flags.
func (c SubmitCommand) Validate() error {
	if c.Parallel < 1 || c.Parallel > 256 {
		return fmt.Errorf("--parallel is %d: 1 to 256 are possible", c.Parallel)
	}
	return nil
}

// Run submits.
func (c *SubmitCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	in, closeFile, err := env.open(c.File)
	if err != nil {
		return err
	}
	defer closeFile()
	server, err := env.client(ctx, g, c.Parallel)
	if err != nil {
		return err
	}
	s := &submitter{env: env, json: g.JSON, server: server, keep: c.Wait}
	if err := s.all(ctx, in, c.Parallel); err != nil {
		return err
	}
	if s.accepted+s.already+s.refused == 0 {
		return fmt.Errorf("there is no submission in %s", c.File)
	}
	if err := s.summary(); err != nil {
		return err
	}
	if c.Wait {
		err = s.wait(ctx, c.Timeout)
	}
	if err == nil && s.refused > 0 {
		err = errTold
	}
	return err
}

// open opens a file for reading; - is standard input.
func (e *Env) open(name string) (io.Reader, func(), error) {
	if name == "-" {
		return e.Stdin, func() {}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the input: %w", err)
	}
	return f, func() { _ = f.Close() }, nil // it was only read
}

// submitter submits and counts.
type submitter struct {
	env    *Env
	json   bool
	server *client.Client
	keep   bool // the ids of what is accepted

	mu                         sync.Mutex // guards all below, and the output
	accepted, already, refused int
	ids                        []task.ID
}

// Result lines: so many in text, then only the progress, so often.
const (
	shownResults  = 10
	progressEvery = 1000
)

// all submits everything. What the server refuses is told and counted; when it
// can't be reached or does not work, the rest is not tried.
func (s *submitter) all(ctx context.Context, in io.Reader, parallel int) error {
	group, each := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	var reading error
	for it, err := range submissions(in) {
		if reading = err; reading != nil || each.Err() != nil {
			break
		}
		group.Go(func() error { return s.one(each, it) })
	}
	err := group.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		if n := s.accepted + s.already; n > 0 {
			s.env.note("%d were accepted before; submit all again: what was accepted counts once", n)
		}
		return err
	case reading != nil:
		return fmt.Errorf("reading the input: %w", reading)
	}
	return nil
}

func (s *submitter) one(ctx context.Context, it item) error {
	if it.problem != "" {
		return s.refuse(it, api.Failure{Code: api.CodeInvalid, Message: it.problem})
	}
	accepted, already, err := s.send(ctx, it.body)
	var refusal *client.Error
	switch {
	case err == nil:
		return s.accept(it, accepted, already)
	case errors.As(err, &refusal) && refusal.Status < 500:
		return s.refuse(it, refusal.Failure)
	}
	return fmt.Errorf("submitting line %d: %w", it.line, err)
}

// maxTries bounds the tries against a server that does not work. One that is
// full is tried until there is room.
const maxTries = 5

// send submits one, and again where that is what the server asks for.
func (s *submitter) send(ctx context.Context, body []byte) (accepted api.Accepted, already bool, err error) {
	for tries := 1; ; tries++ {
		accepted, already, err = s.server.Submit(ctx, body)
		full := errors.Is(err, client.ErrFull)
		if !full && (tries >= maxTries || !errors.Is(err, client.ErrUnavailable)) {
			return accepted, already, err
		}
		var refusal *client.Error
		after := time.Second
		if errors.As(err, &refusal) {
			if refusal.Code == api.CodeStoreFull || refusal.Code == api.CodeDamaged {
				return accepted, already, err
			}
			after = max(after, refusal.RetryAfter)
		}
		if err := s.env.Pause(ctx, after); err != nil {
			return accepted, already, err
		}
	}
}

// submitted is the JSON line of one result.
type submitted struct {
	Line int `json:"line"`
	*api.Accepted
	Already bool         `json:"already,omitempty"`
	Error   *api.Failure `json:"error,omitempty"`
}

func (s *submitter) accept(it item, a api.Accepted, already bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	word := "accepted"
	if already {
		s.already++
		word = "already accepted"
	} else {
		s.accepted++
	}
	if s.keep {
		s.ids = append(s.ids, a.ID)
	}
	n := s.accepted + s.already
	if n%progressEvery == 0 {
		s.env.note("%d accepted, %d refused so far", n, s.refused)
	}
	switch {
	case s.json:
		return s.env.line(submitted{Line: it.line, Accepted: &a, Already: already})
	case n <= shownResults:
		return s.env.print("%s  %s  %s  %s", word, clean(string(a.ID)), clean(a.Workflow), s.env.paint(clean(string(a.State))))
	case n == shownResults+1:
		return s.env.print("...")
	}
	return nil
}

func (s *submitter) refuse(it item, f api.Failure) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused++
	message := f.Message
	if f.Field != "" && !strings.HasPrefix(message, "field ") {
		message = "field " + f.Field + ": " + message
	}
	s.env.note("line %d: %s", it.line, message)
	if s.json {
		return s.env.line(submitted{Line: it.line, Error: &f})
	}
	return nil
}

// summary counts the results when there were several.
func (s *submitter) summary() error {
	if s.json || s.accepted+s.already+s.refused < 2 {
		return nil
	}
	return s.env.print("%d accepted, %d already accepted, %d refused", s.accepted, s.already, s.refused)
}
