package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triad/shared/doctor"
)

func (m *Metrics) countExaminations() {
	m.examinations = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "triad_doctor_examinations_total",
		Help: "Routine examinations by the doctor."}, []string{"result"})
	// Not there before the first examination, which comes long after the start: an
	// alarm on its age would go off at every start.
	m.examined = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "triad_doctor_last_examination_timestamp_seconds",
		Help: "When the last examination ended of which no check failed. Alarm when it stands still."}, nil)
	m.findings = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "triad_doctor_findings",
		Help: "What the last examination found wrong. A check that was not made is not there."}, []string{"check"})
	m.registry.MustRegister(m.examinations, m.examined, m.findings)
}

// Examined hears of an examination.
func (m *Metrics) Examined(r doctor.Report) {
	result, failed := "ok", false
	for _, c := range r.Checks {
		switch c.Status {
		case doctor.NotChecked:
			m.findings.DeleteLabelValues(string(c.Name))
			continue
		case doctor.Failed:
			failed = true
		case doctor.Found:
			result = "found"
		}
		m.findings.WithLabelValues(string(c.Name)).Set(float64(c.Found))
	}
	if failed {
		m.examinations.WithLabelValues("failed").Inc()
		return
	}
	m.examinations.WithLabelValues(result).Inc()
	m.examined.WithLabelValues().Set(float64(time.Now().UnixMilli()) / 1000)
}
