package api

import (
	"net/http"
	"time"

	"triad/shared/doctor"
)

// health serves GET /healthz.
func (s *server) health(w http.ResponseWriter, _ *http.Request) error {
	if s.Ready != nil {
		if err := s.Ready(); err != nil {
			f := failf(http.StatusServiceUnavailable, CodeNotReady, "", "the engine does not work now: %s", err)
			f.retryAfter = time.Second
			return f
		}
	}
	h := Health{Status: "ok"}
	if s.Findings != nil {
		h.Findings = s.Findings()
	}
	writeJSON(w, http.StatusOK, h)
	return nil
}

// metrics serves GET /metrics.
func (s *server) metrics(w http.ResponseWriter, r *http.Request) error {
	if s.Metrics == nil {
		return failf(http.StatusNotFound, CodeNotFound, "", "this server has no metrics")
	}
	s.Metrics.ServeHTTP(w, r)
	return nil
}

// examine serves GET /v1/doctor. It changes nothing; a full examination takes as
// long as the store is large, and ends with its request.
func (s *server) examine(w http.ResponseWriter, r *http.Request) error {
	q := parameters(r, "full", "integrity")
	o := doctor.Options{Full: q.truth("full"), Integrity: q.truth("integrity")}
	if q.err != nil {
		return q.err
	}
	if s.Doctor == nil {
		return failf(http.StatusNotFound, CodeNotFound, "", "this server has no doctor")
	}
	report, err := s.Doctor.Examine(r.Context(), o)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, examinationOf(report))
	return nil
}
