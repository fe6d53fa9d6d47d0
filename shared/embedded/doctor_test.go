package embedded_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"triad/shared/doctor"
	"triad/shared/embedded"
	"triad/shared/store"
	"triad/shared/task"
)

// examined makes an engine whose doctor is called again and again.
func examined(reports chan doctor.Report, log *bytes.Buffer) func(*embedded.Config) {
	return func(c *embedded.Config) {
		c.Doctor.Walker, _ = c.Store.(store.Walker)
		c.Examine = time.Millisecond
		c.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelError}))
		c.Examined = func(r doctor.Report) {
			select {
			case reports <- r:
			default:
			}
		}
	}
}

// TestTheDoctorFindsNothingWhileOrdersFlow lets orders flow until the doctor has
// looked at as many as it is to: how many it meets depends on the machine.
func TestTheDoctorFindsNothingWhileOrdersFlow(t *testing.T) {
	t.Parallel()
	const orders, want = 50, 100
	reports := make(chan doctor.Report, 1<<16)
	var log bytes.Buffer
	p := open(t, file(t), newWorld(), examined(reports, &log))
	stop := p.run()
	looked := 0
	for from := 0; looked < want; from += orders {
		p.flood(from, from+orders)
		p.await(orders)
		for range len(reports) {
			looked += records(t, <-reports)
		}
	}
	stop()
	if p.Findings() != 0 || log.Len() > 0 {
		t.Errorf("found %d, and logged:\n%s", p.Findings(), &log)
	}
}

// records is how many tasks a report is about, in which nothing may be found.
func records(t *testing.T, r doctor.Report) (looked int) {
	t.Helper()
	for _, c := range r.Checks {
		if c.Status == doctor.Found || c.Status == doctor.Failed {
			t.Errorf("a sound engine: %+v", c)
		}
		if c.Name == doctor.Records {
			looked = c.Looked
		}
	}
	return looked
}

// TestTheDoctorTellsWhatItFindsInTheLog starts an engine without an agent that a
// task of before needs.
func TestTheDoctorTellsWhatItFindsInTheLog(t *testing.T) {
	t.Parallel()
	path, w, free := file(t), newWorld(), make(chan struct{})
	w.gate = func(task.Request) <-chan struct{} { return free }
	first := open(t, path, w, nil)
	first.flood(0, 1)
	first.close()
	reports := make(chan doctor.Report)
	var log bytes.Buffer
	second := open(t, path, w, func(c *embedded.Config) {
		examined(reports, &log)(c)
		delete(c.Agents, "shipping")
	})
	stop := second.run()
	r := <-reports
	close(free)
	stop()
	if r.Findings() != 1 || second.Findings() != 1 {
		t.Errorf("the doctor found %d things, the engine says %d; want 1: %+v", r.Findings(), second.Findings(), r)
	}
	for _, want := range []string{"check=agents", "found=1", "step ship of order@1 names the agent", "action="} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, &log)
		}
	}
}
