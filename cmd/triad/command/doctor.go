package command

import (
	"context"
	"errors"
	"fmt"

	"triad/shared/api"
	"triad/shared/api/client"
	"triad/shared/doctor"
)

// DoctorCommand examines the deployment.
type DoctorCommand struct {
	Full      bool `help:"Look at every task, also at those that have ended. Takes as long as the store is large."`
	Integrity bool `help:"Check the structure of the store's file too. Reads the whole file."`
}

// Help is the detailed help.
func (DoctorCommand) Help() string {
	return `Holds the store against what must be true of it, and changes nothing. Without flags it looks at
some tasks, and goes on where the last examination ended. Exits with 1 when something is wrong or could
not be looked at. What is not checked is said, and is no fault.

Examples:

  triad doctor
  triad doctor --full --integrity
  triad doctor --json | jq '.checks[] | select(.status == "found")'`
}

// Run examines.
func (c *DoctorCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	server, err := env.client(ctx, g, 1)
	if err != nil {
		return err
	}
	report, err := server.Examine(ctx, c.Full, c.Integrity)
	if errors.Is(err, client.ErrNotFound) {
		return fmt.Errorf("examining %s: %s: it may be older than this program", g.URL, err) // no hint for a missing task
	}
	if err != nil {
		return err
	}
	if g.JSON {
		err = env.document(report)
	} else {
		err = c.show(env, report)
	}
	if err == nil && !report.Healthy {
		return errTold
	}
	return err
}

func (c *DoctorCommand) show(env *Env, report api.Examination) error {
	out := &table{}
	out.add("CHECK", "STATUS", "FOUND", "LOOKED AT", "WHY")
	for _, k := range report.Checks {
		looked := fmt.Sprintf("%d %s", k.Looked, k.Of)
		switch {
		case k.Status == doctor.NotChecked:
			looked = ""
		case k.Partial:
			looked += ", there are more"
		}
		out.add(string(k.Name), string(k.Status), number(k.Found), looked, k.Why)
	}
	if err := out.write(env); err != nil {
		return err
	}
	for _, k := range report.Checks {
		if k.Found == 0 {
			continue
		}
		found := &table{}
		for _, f := range k.Examples {
			found.add(" ", f.ID, f.What)
		}
		if err := env.print("\n%s: %s", k.Name, clean(k.Action)); err != nil {
			return err
		}
		if err := found.write(env); err != nil {
			return err
		}
	}
	return nil
}
