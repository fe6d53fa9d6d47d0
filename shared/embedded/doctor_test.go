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

func TestTheDoctorFindsNothingWhileOrdersFlow(t *testing.T) {
	t.Parallel()
	const n = 300
	reports := make(chan doctor.Report, 1<<16)
	var log bytes.Buffer
	p := open(t, file(t), newWorld(), examined(reports, &log))
	stop := p.run()
	p.flood(0, n)
	p.await(n)
	<-reports
	stop()
	close(reports)
	looked := 0
	for r := range reports {
		for _, c := range r.Checks {
			if c.Status == doctor.Found || c.Status == doctor.Failed {
				t.Errorf("a sound engine: %+v", c)
			}
			looked += c.Looked
		}
	}
	if looked < n || p.Findings() != 0 || log.Len() > 0 {
		t.Errorf("looked at %d, found %d, and logged:\n%s", looked, p.Findings(), &log)
	}
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
