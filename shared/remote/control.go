package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

func (s *Services) showFaults(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, s.Faults())
}

func (s *Services) putFaults(w http.ResponseWriter, r *http.Request) {
	svc, ok := s.service(w, r)
	if !ok {
		return
	}
	var f Faults
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	dec.DisallowUnknownFields()
	err := dec.Decode(&f)
	if err == nil && len(f.Rules) == 0 {
		err = errors.New(`no rules: write {"rules":[{"status":503}]}, or DELETE to switch faults off`)
	}
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = errors.New("something follows the JSON value")
		}
	}
	if err == nil {
		err = s.SetFaults(svc.name, f)
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("setting faults of %s: %v", svc.name, err), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Services) deleteFaults(w http.ResponseWriter, r *http.Request) {
	svc, ok := s.service(w, r)
	if !ok {
		return
	}
	if err := s.ClearFaults(svc.name); err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
