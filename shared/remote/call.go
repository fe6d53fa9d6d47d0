package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// call answers a call of a service: PUT, DELETE, or GET of an account.
func (s *Services) call(w http.ResponseWriter, r *http.Request) {
	svc, ok := s.service(w, r)
	if !ok {
		return
	}
	m, ok := readMessage(w, r)
	if !ok {
		return
	}
	struck := svc.arrive(m)
	if struck.latency > 0 {
		// Also when the client has gone meanwhile: a slow service does not know,
		// and its effect comes late.
		<-time.After(struck.latency)
	}
	if struck.rule == nil {
		svc.answer(w, m, svc.apply(m))
		return
	}
	if struck.rule.ApplyFirst {
		svc.apply(m)
	}
	svc.struck(struck.rule.code())
	misbehave(w, r, struck.rule)
}

// readMessage reads a call to its end, or answers what is wrong with it.
func readMessage(w http.ResponseWriter, r *http.Request) (message, bool) {
	m := message{method: r.Method, id: r.PathValue("id"), key: r.Header.Get("Idempotency-Key")}
	if len(m.id) > maxID {
		http.Error(w, "id has more than "+strconv.Itoa(maxID)+" bytes", http.StatusBadRequest)
		return m, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, "body has more than "+strconv.Itoa(maxBody)+" bytes", http.StatusRequestEntityTooLarge)
		return m, false
	case err != nil:
		http.Error(w, "reading the body: "+err.Error(), http.StatusBadRequest)
		return m, false
	}
	if len(body) > 0 {
		sum := sha256.Sum256(body)
		m.digest = hex.EncodeToString(sum[:16])
	}
	return m, true
}

// answer tells the caller what became of its call.
func (s *service) answer(w http.ResponseWriter, m message, code int) {
	type made struct {
		ID      string `json:"id"`
		Service string `json:"service"`
	}
	switch code {
	case http.StatusCreated, http.StatusOK:
		answerJSON(w, code, made{m.id, s.name})
	case http.StatusNoContent:
		w.WriteHeader(code)
	case http.StatusGone:
		http.Error(w, "was undone before: it can't be created any more", code)
	case http.StatusForbidden:
		http.Error(w, "account is blocked", code)
	}
}

// misbehave answers as a fault says, or not at all.
func misbehave(w http.ResponseWriter, r *http.Request, rule *Rule) {
	switch {
	case rule.Hang:
		select {
		case <-r.Context().Done():
		case <-time.After(maxHang):
		}
		fallthrough
	case rule.Down:
		panic(http.ErrAbortHandler) // net/http's way to close a connection without an answer
	}
	if rule.RetryAfterS > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(rule.RetryAfterS))
	}
	text := "failing on demand"
	if rule.Refuse {
		text = "refused on demand"
	}
	http.Error(w, text, rule.code())
}
