package command

import "context"

// AlertsCommand lists what operators were told.
type AlertsCommand struct {
	After int64 `placeholder:"SEQ" help:"Only those after this number."`
}

// Help is the detailed help.
func (AlertsCommand) Help() string {
	return `Examples:

  triad alerts
  triad alerts --after 12 --json`
}

// Run lists all of them. With --json, a line for each.
func (c *AlertsCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	server, err := env.client(ctx, g, 1)
	if err != nil {
		return err
	}
	out := &table{}
	out.add("SEQ", "AT", "TASK", "STEP", "SUBJECT", "WHAT TO DO")
	for after := c.After; ; {
		page, err := server.Alerts(ctx, after, 0)
		if err != nil {
			return err
		}
		for _, a := range page.Alerts {
			if g.JSON {
				if err := env.line(a); err != nil {
					return err
				}
			}
			out.add(number(a.Seq), moment(a.At), string(a.Task), a.Step, a.Subject, a.Action)
		}
		if after = page.Next; after == 0 {
			break
		}
	}
	return out.finish(env, g, "there are no alerts")
}
