package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"triad/shared/api"
	"triad/shared/task"
)

// ShowCommand shows one task.
type ShowCommand struct {
	ID     string `arg:"" help:"Id of the task."`
	Bodies bool   `help:"Print the order and the outputs too."`
}

// Help is the detailed help.
func (ShowCommand) Help() string {
	return `Examples:

  triad show order-1
  triad show order-1 --bodies
  triad show order-1 --json | jq .steps`
}

// Run shows.
func (c *ShowCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	id, err := taskID(c.ID)
	if err != nil {
		return err
	}
	server, err := env.client(ctx, g, 1)
	if err != nil {
		return err
	}
	t, err := server.Task(ctx, id)
	if err != nil {
		return err
	}
	if g.JSON {
		return env.document(t)
	}
	if err := heading(t).write(env); err != nil {
		return err
	}
	if err := env.print(""); err != nil {
		return err
	}
	if err := stepTable(t).write(env); err != nil {
		return err
	}
	if c.Bodies {
		return bodies(env, t)
	}
	return nil
}

// taskID checks an id of the command line: the server would refuse it too, and
// this way it is safe in a path.
func taskID(s string) (task.ID, error) {
	if err := task.ValidateID(task.ID(s)); err != nil {
		return "", misused("see what there is with: triad list", "%s", err)
	}
	return task.ID(s), nil
}

// heading is what is known of the task as a whole, without what is absent.
func heading(t api.Task) *table {
	goal := ""
	if t.Goal != t.State {
		goal = string(t.Goal)
	}
	out := &table{}
	for _, row := range [][2]string{
		{"Task", string(t.ID)},
		{"Workflow", t.Workflow},
		{"State", string(t.State)},
		{"On its way to", goal},
		{"Reason", t.Reason},
		{"Paused", yes(t.Paused)},
		{"Tenant", t.Tenant},
		{"Notices to", t.ResponseQueue},
		{"Created", moment(t.CreatedAt)},
		{"Ended", moment(t.EndedAt)},
		{"Took", took(t.CreatedAt, t.EndedAt)},
		{"Deadline", moment(t.Deadline)},
		{"Looked at by", moment(t.CompleteBy)},
		{"Failures", number(t.FailureCount)},
		{"Resubmitted", number(t.Resubmits)},
		{"Version", number(t.Version)},
	} {
		if row[1] != "" {
			out.add(row[0], row[1])
		}
	}
	return out
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

func stepTable(t api.Task) *table {
	out := &table{}
	out.add("STEP", "STATE", "ATTEMPT", "FAILURES", "WAITS", "STARTED", "TOOK", "COMPLETE BY", "LOCKED BY", "LAST ERROR")
	for _, s := range t.Steps {
		name := s.Name
		if s.Undo {
			name += " (undo)"
		}
		span := ""
		if s.LockedBy == "" {
			span = took(s.StartedAt, s.EndedAt)
		}
		out.add(name, string(s.State), number(s.Attempt), number(s.FailureCount), number(s.Waits),
			moment(s.StartedAt), span, moment(s.CompleteBy), s.LockedBy, s.Error)
	}
	return out
}

// bodies prints the order and the outputs.
func bodies(env *Env, t api.Task) error {
	all := []struct {
		title string
		body  json.RawMessage
	}{{"Order", t.Order}}
	for _, s := range t.Steps {
		all = append(all, struct {
			title string
			body  json.RawMessage
		}{"Output of " + s.Name, s.Output})
	}
	for _, b := range all {
		if len(b.body) == 0 {
			continue
		}
		var text bytes.Buffer
		if err := json.Indent(&text, b.body, "", "  "); err != nil {
			return fmt.Errorf("printing the %s: %w", strings.ToLower(b.title), err)
		}
		lines := strings.Split(text.String(), "\n")
		for i := range lines {
			lines[i] = clean(lines[i])
		}
		if err := env.print("\n%s\n%s", b.title, strings.Join(lines, "\n")); err != nil {
			return err
		}
	}
	return nil
}
