// Package telemetry counts what the engine does, for Prometheus: decisions by
// event and verdict, transitions, ends of tasks, sweeps, queues.
//
// It listens and never decides: taking it out changes no behaviour. Labels come
// from constants and from the names of workflows and queues, never from ids or
// payloads. Metrics are safe for concurrent use.
package telemetry

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"triad/shared/agent"
	"triad/shared/supervisor"
	"triad/shared/task"
)

// Metrics hears of decisions and sweeps. Make it with New.
type Metrics struct {
	registry  *prometheus.Registry
	events    map[task.Kind]map[task.Verdict]prometheus.Counter
	moves     *prometheus.CounterVec
	ends      *prometheus.CounterVec
	life      *prometheus.HistogramVec
	sweeps    *prometheus.CounterVec
	recovered prometheus.Counter
	heartbeat prometheus.Gauge
	lag       prometheus.Gauge

	examinations *prometheus.CounterVec
	examined     *prometheus.GaugeVec
	findings     *prometheus.GaugeVec
}

// Sources are values read when metrics are scraped. Nil ones are left out.
type Sources struct {
	// Unfinished is how many tasks have not finished.
	Unfinished func() int
	// Depths is how many messages each queue holds.
	Depths func() map[string]int
	// Rejected is how many captured messages wait for an operator. While it has
	// an error the metric is left out.
	Rejected func() (int, error)
	// Agents is what each agent has counted.
	Agents func() map[string]agent.Stats
	// Commits and Groups count durable changes and the syncs that made them so.
	Commits, Groups func() uint64
}

// New returns Metrics with a registry of their own.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		moves: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "triad_step_transitions_total",
			Help: "Transitions of steps."}, []string{"from", "to", "because"}),
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "triad_tasks_ended_total",
			Help: "Tasks that reached a final state."}, []string{"workflow", "state"}),
		life: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "triad_task_seconds",
			Help:    "Time from submission to the end of a task.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 12)}, []string{"workflow"}),
		sweeps: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "triad_supervisor_sweeps_total",
			Help: "Sweeps of the Supervisor."}, []string{"result"}),
		recovered: prometheus.NewCounter(prometheus.CounterOpts{Name: "triad_supervisor_acts_total",
			Help: "Tasks that the Supervisor acted on."}),
		heartbeat: prometheus.NewGauge(prometheus.GaugeOpts{Name: "triad_supervisor_last_sweep_timestamp_seconds",
			Help: "When the last sweep ended without an error. Alarm when it stands still."}),
		lag: prometheus.NewGauge(prometheus.GaugeOpts{Name: "triad_supervisor_lag_seconds",
			Help: "How far the earliest task of the last sweep was past its CompleteBy."}),
	}
	m.registry.MustRegister(m.moves, m.ends, m.life, m.sweeps, m.recovered, m.heartbeat, m.lag,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.countEvents()
	m.countExaminations()
	return m
}

// countEvents makes a counter for every kind of event and verdict, so that the
// hot path looks up two small maps and the zeros show.
func (m *Metrics) countEvents() {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "triad_events_total",
		Help: "Events by kind and by what became of them."}, []string{"event", "verdict"})
	m.registry.MustRegister(vec)
	m.events = map[task.Kind]map[task.Verdict]prometheus.Counter{}
	for _, k := range task.Kinds() {
		m.events[k] = map[task.Verdict]prometheus.Counter{}
		for _, v := range task.Verdicts() {
			m.events[k][v] = vec.WithLabelValues(string(k), string(v))
		}
	}
}

// Watch adds values that are read when metrics are scraped.
func (m *Metrics) Watch(s Sources) { m.registry.MustRegister(&sources{s}) }

// Handler serves the metrics in Prometheus' text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Decided implements engine.Observer.
func (m *Metrics) Decided(e task.Event, d task.Decision) {
	if c, known := m.events[e.Kind][d.Verdict]; known {
		c.Inc()
	}
	for _, move := range d.Moves {
		switch {
		case move.Step != "":
			m.moves.WithLabelValues(string(move.From), string(move.To), string(move.Cause)).Inc()
		case move.To.Finished():
			m.ends.WithLabelValues(d.Task.Workflow, string(move.To)).Inc()
			m.life.WithLabelValues(d.Task.Workflow).Observe(float64(d.Task.EndedAt-d.Task.CreatedAt) / 1000)
		}
	}
}

// Swept hears of a sweep.
func (m *Metrics) Swept(r supervisor.Report, err error) {
	m.recovered.Add(float64(r.Acted))
	m.lag.Set(r.Oldest.Seconds())
	if err != nil || r.Failed > 0 {
		m.sweeps.WithLabelValues("failed").Inc()
		return
	}
	m.sweeps.WithLabelValues("ok").Inc()
	m.heartbeat.Set(float64(time.Now().UnixMilli()) / 1000)
}
