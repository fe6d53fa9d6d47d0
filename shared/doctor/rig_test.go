package doctor_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/shared/doctor"
	"triad/shared/engine/enginetest"
	"triad/shared/store/record"
	"triad/shared/store/sqlitestore"
	"triad/shared/task"
)

// deployment is an engine over a real store file, which tests damage.
type deployment struct {
	*enginetest.Rig
	t       *testing.T
	path    string
	store   *sqlitestore.Store
	process *enginetest.Process
	config  doctor.Config
}

// agents are those of the reference workflow.
func agents() []string {
	return []string{"inventory", "payment", "warehouse", "shipping", "notification"}
}

// deploy makes one with three tasks: live is in its first step, done has ended,
// failed is in Error.
func deploy(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{Rig: enginetest.New(t), t: t, path: filepath.Join(t.TempDir(), "triad.db")}
	d.Outlet = nil // the store keeps notices and alerts
	d.open()
	d.process = d.Start("one")
	d.Submit(d.process, "done")
	for d.Deliver(d.process) {
	}
	d.Services.Answer = func(r task.Request) task.Reply {
		if r.Agent == "notification" { // its step ends the task in Error
			return task.Reply{Outcome: task.FailedPermanently, Error: "no"}
		}
		return task.Reply{Outcome: task.Succeeded}
	}
	d.Submit(d.process, "failed")
	for d.Deliver(d.process) {
	}
	d.Services.Answer = nil
	d.Submit(d.process, "live")
	if failed, err := d.store.Load(context.Background(), "failed"); err != nil || failed.State != task.Error {
		t.Fatalf("task failed is %s, %v", failed.State, err)
	}
	d.config = doctor.Config{
		Workflows: d.Catalog, Agents: agents(), Clock: d.Clock.Now,
		Size:    func(v task.Task) (int, error) { return len(record.Append(nil, v)), nil },
		MaxSize: record.MaxSize,
		DeadLetters: func(ctx context.Context) (map[string]int, error) {
			n, err := d.store.CountRejected(ctx)
			return map[string]int{"rejected": n}, err
		},
	}
	return d
}

func (d *deployment) open() {
	d.t.Helper()
	var err error
	if d.store, err = sqlitestore.Open(context.Background(), d.path, sqlitestore.Config{}); err != nil {
		d.t.Fatal(err)
	}
	d.Table.Store = d.store
	d.t.Cleanup(func() { _ = d.store.Close() })
}

// damage stops the store, changes its file behind its back, and starts it again.
func (d *deployment) damage(statements ...string) {
	d.t.Helper()
	if err := d.store.Close(); err != nil {
		d.t.Fatal(err)
	}
	db, err := sql.Open("sqlite", d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			d.t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := db.Close(); err != nil {
		d.t.Fatal(err)
	}
	d.open()
}

// doctor is one with the config, over what is open now.
func (d *deployment) doctor() *doctor.Doctor {
	c := d.config
	if c.Store == nil {
		c.Store, c.Walker, c.Integrity = d.store, d.store, d.store.Check
	}
	return doctor.New(c)
}

func (d *deployment) examine(o doctor.Options) doctor.Report {
	d.t.Helper()
	return examine(d.t, d.doctor(), o)
}

func examine(t *testing.T, d *doctor.Doctor, o doctor.Options) doctor.Report {
	t.Helper()
	r, err := d.Examine(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// find is a check of a report.
func find(t *testing.T, r doctor.Report, name doctor.Name) doctor.Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no check %s", name)
	return doctor.Check{}
}

// lines are the findings of a report: check, id, what.
func lines(r doctor.Report) string {
	var all []string
	for _, c := range r.Checks {
		for _, f := range c.Examples {
			all = append(all, string(c.Name)+" "+f.ID+": "+f.What)
		}
		if c.Status == doctor.Failed {
			all = append(all, string(c.Name)+" failed: "+c.Why)
		}
	}
	return strings.Join(all, "\n")
}

const minute = time.Minute
