package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"triad/shared/api"
	"triad/shared/queue"
)

// RejectedCommand is about messages that could not be processed.
type RejectedCommand struct {
	List    RejectedListCommand    `cmd:"" default:"withargs" help:"List them (the default)."`
	Resend  RejectedResendCommand  `cmd:"" help:"Submit one again; accepted, it is dismissed."`
	Dismiss RejectedDismissCommand `cmd:"" help:"Drop one."`
}

// Help is the detailed help.
func (RejectedCommand) Help() string {
	return `Examples:

  triad rejected
  triad rejected resend 7
  triad rejected resend 7 --body corrected.json
  triad rejected dismiss 7`
}

// RejectedListCommand lists them.
type RejectedListCommand struct{}

// Run lists all of them. With --json, a line for each.
func (RejectedListCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	server, err := env.client(ctx, g, 1)
	if err != nil {
		return err
	}
	out := &table{}
	out.add("SEQ", "AT", "QUEUE", "REASON", "BODY")
	for after := int64(0); ; {
		page, err := server.Rejected(ctx, after, 0)
		if err != nil {
			return err
		}
		for _, r := range page.Rejected {
			if g.JSON {
				if err := env.line(r); err != nil {
					return err
				}
			}
			out.add(number(r.Seq), moment(r.At), r.Queue, r.Reason, excerpt(r))
		}
		if after = page.Next; after == 0 {
			break
		}
	}
	return out.finish(env, g, "nothing is rejected")
}

// excerpt is the beginning of a message.
func excerpt(r api.Rejected) string {
	const most = 60
	if r.Body == "" {
		return fmt.Sprintf("(%d bytes that are no text)", len(r.BodyBase64))
	}
	text := strings.Join(strings.Fields(r.Body), " ")
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "..."
	}
	return text
}

// RejectedResendCommand submits one again.
type RejectedResendCommand struct {
	Seq  int64  `arg:"" help:"Number of the message."`
	Body string `placeholder:"FILE" help:"Send the submission in this file instead; - reads standard input."`
}

// Run resends.
func (c *RejectedResendCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	server, err := env.client(ctx, g, 1)
	if err != nil {
		return err
	}
	var corrected []byte
	if c.Body != "" {
		if corrected, err = c.correction(env); err != nil {
			return err
		}
	}
	a, err := server.Resend(ctx, c.Seq, corrected)
	if err != nil {
		return fmt.Errorf("resending message %d: %w", c.Seq, err)
	}
	if g.JSON {
		return env.document(a)
	}
	return env.print("accepted  %s  %s  %s", clean(string(a.ID)), clean(a.Workflow), env.paint(clean(string(a.State))))
}

func (c *RejectedResendCommand) correction(env *Env) ([]byte, error) {
	in, closeFile, err := env.open(c.Body)
	if err != nil {
		return nil, err
	}
	defer closeFile()
	body, err := io.ReadAll(io.LimitReader(in, queue.MaxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the correction: %w", err)
	case len(body) > queue.MaxBody:
		return nil, fmt.Errorf("the correction is larger than %d bytes", queue.MaxBody)
	case !json.Valid(body):
		return nil, fmt.Errorf("the correction is not JSON")
	}
	return body, nil
}

// RejectedDismissCommand drops one.
type RejectedDismissCommand struct {
	Seqs []int64 `arg:"" name:"seq" help:"Numbers of the messages."`
}

// Run dismisses. What is gone already counts as done.
func (c *RejectedDismissCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	server, err := env.client(ctx, g, 1)
	if err != nil {
		return err
	}
	for _, seq := range c.Seqs {
		if err := server.Dismiss(ctx, seq); err != nil {
			return fmt.Errorf("dismissing message %d: %w", seq, err)
		}
	}
	if g.JSON {
		return env.document(map[string]any{"dismissed": c.Seqs})
	}
	return env.print("dismissed %d", len(c.Seqs))
}
