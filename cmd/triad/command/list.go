package command

import (
	"context"
	"errors"
	"fmt"

	"triad/shared/api"
	"triad/shared/api/client"
	"triad/shared/task"
)

// ListCommand lists tasks.
type ListCommand struct {
	State      string `placeholder:"STATE" help:"Only tasks in this state, such as Error."`
	Workflow   string `placeholder:"NAME" help:"Only tasks of this workflow, as name or name@version."`
	Tenant     string `placeholder:"NAME" help:"Only tasks of this tenant."`
	Unfinished bool   `help:"Only tasks that have not finished."`
	Limit      int    `default:"100" help:"How many to fetch at once, 1 to 1000 (${default})."`
	Cursor     string `help:"Where the page before ended."`
	All        bool   `help:"Fetch all pages. With --json, prints a line for each task."`
}

// Help is the detailed help.
func (ListCommand) Help() string {
	return `Examples:

  triad list --state Error
  triad list --unfinished --workflow order
  triad list --all --json | jq -r .id

On a stack, whose table has no index of what is finished, --unfinished or --state Error has to be given.`
}

// Validate checks the flags.
func (c ListCommand) Validate() error {
	if c.Limit < 1 || c.Limit > 1000 {
		return fmt.Errorf("--limit is %d: 1 to 1000 are possible", c.Limit)
	}
	return nil
}

// Run lists.
func (c *ListCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	server, err := env.client(ctx, g, 1)
	if err != nil {
		return err
	}
	q := client.Query{State: task.State(c.State), Workflow: c.Workflow, Tenant: c.Tenant,
		Unfinished: c.Unfinished, Limit: c.Limit, Cursor: c.Cursor}
	for first := true; ; first = false {
		page, err := server.Tasks(ctx, q)
		var refusal *client.Error
		if errors.As(err, &refusal) && refusal.Code == api.CodeUnsupported {
			return &hinted{err, "add --unfinished or --state Error; a single task: triad show ID"}
		}
		if err != nil {
			return err
		}
		if err := c.page(env, g, page, first); err != nil {
			return err
		}
		if page.Next == "" || !c.All {
			return nil
		}
		q.Cursor = page.Next
	}
}

func (c *ListCommand) page(env *Env, g *Globals, page api.TaskPage, first bool) error {
	for _, id := range page.Damaged {
		env.note("the record of task %s is damaged and can't be listed: triad doctor says what is wrong", id)
	}
	switch {
	case g.JSON && !c.All:
		return env.document(page)
	case g.JSON:
		for _, t := range page.Tasks {
			if err := env.line(t); err != nil {
				return err
			}
		}
		return nil
	case len(page.Tasks) == 0 && len(page.Damaged) == 0 && first && page.Next == "":
		env.note("there are no such tasks")
		return nil
	}
	out := &table{}
	if first {
		out.add("ID", "WORKFLOW", "STATE", "STEPS", "FAILURES", "CREATED", "TOOK", "REASON")
	}
	for _, t := range page.Tasks {
		state := string(t.State)
		if t.Paused {
			state += " (paused)"
		}
		out.add(string(t.ID), t.Workflow, state, fmt.Sprintf("%d/%d", t.StepsDone, t.StepCount),
			number(t.FailureCount), moment(t.CreatedAt), took(t.CreatedAt, t.EndedAt), t.Reason)
	}
	if err := out.write(env); err != nil {
		return err
	}
	if page.Next != "" && !c.All {
		env.note("there are more: add --all, or --cursor %s", page.Next)
	}
	return nil
}
