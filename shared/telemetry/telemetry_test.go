package telemetry_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"triad/shared/doctor"
	"triad/shared/supervisor"
	"triad/shared/task"
	"triad/shared/telemetry"
)

// scrape returns the metrics as Prometheus reads them.
func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func shows(t *testing.T, m *telemetry.Metrics, lines ...string) {
	t.Helper()
	text := scrape(t, m)
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("there is no line %q in:\n%s", line, own(text))
		}
	}
}

// own are the lines that are not the Go runtime's.
func own(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "triad_") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestEveryEventAndVerdictIsShownFromTheStart(t *testing.T) {
	t.Parallel()
	text := scrape(t, telemetry.New())
	if got, want := strings.Count(text, "\ntriad_events_total{"), len(task.Kinds())*len(task.Verdicts()); got != want {
		t.Errorf("%d counters, want %d", got, want)
	}
}

func TestDecisionsAreCountedByEventVerdictTransitionAndEnd(t *testing.T) {
	t.Parallel()
	m := telemetry.New()
	d := task.Decision{
		Verdict: task.Applied,
		Task:    task.Task{ID: "secret-id", Workflow: "order@1", CreatedAt: 1_000, EndedAt: 3_500},
		Moves: []task.Move{
			{Step: "notify", From: task.Processing, To: task.Processed, Cause: task.BecauseSucceeded},
			{From: task.Processing, To: task.Processed, Cause: task.BecauseCompleted},
		},
	}
	m.Decided(task.Event{Kind: task.Replied, Error: "secret text"}, d)
	m.Decided(task.Event{Kind: task.Replied}, task.Decision{Verdict: task.Stale})
	shows(t, m,
		`triad_events_total{event="replied",verdict="applied"} 1`,
		`triad_events_total{event="replied",verdict="stale"} 1`,
		`triad_step_transitions_total{because="succeeded",from="Processing",to="Processed"} 1`,
		`triad_tasks_ended_total{state="Processed",workflow="order@1"} 1`,
		`triad_task_seconds_sum{workflow="order@1"} 2.5`,
	)
	if strings.Contains(scrape(t, m), "secret") {
		t.Error("an id or a text of a task is in the metrics")
	}
}

func TestAnEventThatNobodyKnowsIsNotCounted(t *testing.T) {
	t.Parallel()
	m := telemetry.New()
	m.Decided(task.Event{Kind: "invented"}, task.Decision{Verdict: "invented"})
	if strings.Contains(scrape(t, m), "invented") {
		t.Error("a label does not come from a constant")
	}
}

func TestTheHeartbeatStandsStillWhenASweepFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report supervisor.Report
		err    error
		beats  bool
		result string
	}{
		"a good sweep":        {supervisor.Report{Acted: 3, Oldest: 1500 * time.Millisecond}, nil, true, "ok"},
		"a task that failed":  {supervisor.Report{Acted: 3, Failed: 1, Oldest: 1500 * time.Millisecond}, nil, false, "failed"},
		"a shard that failed": {supervisor.Report{Acted: 3, Oldest: 1500 * time.Millisecond}, errors.New("no"), false, "failed"},
	} {
		m := telemetry.New()
		m.Swept(c.report, c.err)
		shows(t, m, `triad_supervisor_sweeps_total{result="`+c.result+`"} 1`, "triad_supervisor_acts_total 3", "triad_supervisor_lag_seconds 1.5")
		stands := strings.Contains(scrape(t, m), "\ntriad_supervisor_last_sweep_timestamp_seconds 0\n")
		if stands == c.beats {
			t.Errorf("%s: the heartbeat stands still: %v", name, stands)
		}
	}
}

func TestTheDoctorsFindingsAreShownByCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		checks []doctor.Check
		beats  bool
		lines  []string
	}{
		"nothing": {[]doctor.Check{{Name: doctor.Overdue, Status: doctor.OK}}, true,
			[]string{`triad_doctor_examinations_total{result="ok"} 1`, `triad_doctor_findings{check="overdue"} 0`}},
		"something": {[]doctor.Check{{Name: doctor.Overdue, Status: doctor.Found, Found: 7}, {Name: doctor.Index, Status: doctor.OK}}, true,
			[]string{`triad_doctor_examinations_total{result="found"} 1`, `triad_doctor_findings{check="overdue"} 7`, `triad_doctor_findings{check="index"} 0`}},
		"a check that failed": {[]doctor.Check{{Name: doctor.Overdue, Status: doctor.Failed}, {Name: doctor.Index, Status: doctor.Found, Found: 1}}, false,
			[]string{`triad_doctor_examinations_total{result="failed"} 1`, `triad_doctor_findings{check="index"} 1`}},
	} {
		m := telemetry.New()
		m.Examined(doctor.Report{Checks: append(c.checks, doctor.Check{Name: doctor.Unindexed, Status: doctor.NotChecked})})
		shows(t, m, c.lines...)
		text := scrape(t, m)
		if strings.Contains(text, "unindexed") {
			t.Errorf("%s: a check that was not made is shown", name)
		}
		if beats := strings.Contains(text, "\ntriad_doctor_last_examination_timestamp_seconds "); beats != c.beats {
			t.Errorf("%s: the time of the last examination is shown: %v", name, beats)
		}
	}
}

func TestSourcesAreReadWhenScrapedAndLeftOutWhenNil(t *testing.T) {
	t.Parallel()
	n := 7
	m := telemetry.New()
	var fault error
	m.Watch(telemetry.Sources{
		Unfinished: func() int { return n },
		Depths:     func() map[string]int { return map[string]int{"scheduler": 2, "agent-payment": 5} },
		Commits:    func() uint64 { return 11 },
		Rejected:   func() (int, error) { return n - 4, fault },
	})
	shows(t, m, "triad_tasks_unfinished 7", "triad_rejected_messages 3", `triad_queue_messages{queue="scheduler"} 2`,
		`triad_queue_messages{queue="agent-payment"} 5`, "triad_store_commits_total 11")
	n = 8
	shows(t, m, "triad_tasks_unfinished 8")
	if fault = errors.New("no answer"); strings.Contains(scrape(t, m), "triad_rejected_messages") {
		t.Error("a number that is not known is shown")
	}
	if strings.Contains(scrape(t, m), "triad_store_syncs_total") {
		t.Error("a source that is not there is shown")
	}
}
