package telemetry

import "github.com/prometheus/client_golang/prometheus"

// sources is a collector of values that live elsewhere.
type sources struct{ Sources }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements prometheus.Collector: the values are not known before.
func (s *sources) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (s *sources) Collect(ch chan<- prometheus.Metric) {
	if s.Unfinished != nil {
		ch <- prometheus.MustNewConstMetric(describe("triad_tasks_unfinished", "Tasks that have not finished."),
			prometheus.GaugeValue, float64(s.Unfinished()))
	}
	if s.Rejected != nil {
		if n, err := s.Rejected(); err == nil {
			ch <- prometheus.MustNewConstMetric(describe("triad_rejected_messages",
				"Messages that could not be processed, and wait for an operator."), prometheus.GaugeValue, float64(n))
		}
	}
	if s.Depths != nil {
		desc := describe("triad_queue_messages", "Messages in a queue: visible, delayed and in flight.", "queue")
		for name, n := range s.Depths() {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), name)
		}
	}
	if s.Agents != nil {
		s.agents(ch)
	}
	s.counter(ch, "triad_store_commits_total", "Durable changes.", s.Commits)
	s.counter(ch, "triad_store_syncs_total", "Group commits, one sync each.", s.Groups)
}

func (s *sources) agents(ch chan<- prometheus.Metric) {
	events := describe("triad_agent_events_total", "What agents did, by agent and kind.", "agent", "event")
	for name, a := range s.Agents() {
		for kind, n := range map[string]int64{
			"call": a.Calls, "retry": a.Retries, "succeeded": a.Succeeded, "refused": a.Permanent,
			"failed": a.Transient, "late": a.Late, "rejected": a.Rejected, "extended": a.Extensions,
			"panic": a.Panics, "breaker opened": a.BreakerOpens,
		} {
			ch <- prometheus.MustNewConstMetric(events, prometheus.CounterValue, float64(n), name, kind)
		}
	}
}

func (s *sources) counter(ch chan<- prometheus.Metric, name, help string, read func() uint64) {
	if read != nil {
		ch <- prometheus.MustNewConstMetric(describe(name, help), prometheus.CounterValue, float64(read()))
	}
}
