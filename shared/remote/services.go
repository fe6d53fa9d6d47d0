package remote

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Limits of what a caller may send.
const (
	maxBody = 1 << 20 // bytes
	maxID   = 512     // bytes
)

// maxHang is how long a call without an answer is kept open.
const maxHang = 30 * time.Second

// accounts is the service that is asked, not told: GET is its call.
const accounts = "accounts"

// Names returns the services: those of the sample workflows order and
// drone-delivery.
func Names() []string {
	return []string{"inventory", "payment", "shipping", "notification",
		accounts, "packages", "transports", "drones", "deliveries"}
}

// Config is what Services may be given. The zero Config is complete.
type Config struct {
	// Logger gets a line when faults change. Defaults to none.
	Logger *slog.Logger
	// Clock tells for how long faults are on. Defaults to time.Now. Latency is
	// always real.
	Clock func() time.Time
	// Seed decides which calls a fault's share hits. Zero is a seed too.
	Seed uint64
}

// Services is all reference services: an http.Handler. It is safe for
// concurrent use.
type Services struct {
	log   *slog.Logger
	clock func() time.Time
	all   map[string]*service
	mux   *http.ServeMux
}

// New makes Services without effects and without faults.
func New(c Config) *Services {
	s := &Services{log: cmp.Or(c.Logger, slog.New(slog.DiscardHandler)), clock: c.Clock,
		all: make(map[string]*service), mux: http.NewServeMux()}
	if s.clock == nil {
		s.clock = time.Now
	}
	for _, name := range Names() {
		s.all[name] = &service{name: name, seed: c.Seed, clock: s.clock, entries: make(map[string]*entry)}
	}
	s.mux.HandleFunc("PUT /{service}/{id}", s.call)
	s.mux.HandleFunc("DELETE /{service}/{id}", s.call)
	s.mux.HandleFunc("GET /"+accounts+"/{id}", s.call)
	s.mux.HandleFunc("GET /{service}/{id}", s.showEffect)
	s.mux.HandleFunc("GET /{service}", s.showEffects)
	s.mux.HandleFunc("GET /{$}", s.showSummary)
	s.mux.HandleFunc("GET /faults", s.showFaults)
	s.mux.HandleFunc("PUT /faults/{service}", s.putFaults)
	s.mux.HandleFunc("DELETE /faults/{service}", s.deleteFaults)
	return s
}

// ServeHTTP answers one call; see the package comment for the routes.
func (s *Services) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// service finds the service that a request names, or answers 404.
func (s *Services) service(w http.ResponseWriter, r *http.Request) (*service, bool) {
	name := r.PathValue("service")
	if name == "" { // the one route whose service is not a variable
		name = accounts
	}
	svc, err := s.named(name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return nil, false
	}
	return svc, true
}

func (s *Services) showEffect(w http.ResponseWriter, r *http.Request) {
	svc, ok := s.service(w, r)
	if !ok {
		return
	}
	e, ok := svc.effect(r.PathValue("id"))
	if !ok {
		http.Error(w, svc.name+" has never been called for this id", http.StatusNotFound)
		return
	}
	answerJSON(w, http.StatusOK, e)
}

func (s *Services) showEffects(w http.ResponseWriter, r *http.Request) {
	if svc, ok := s.service(w, r); ok {
		answerJSON(w, http.StatusOK, svc.effects())
	}
}

func (s *Services) showSummary(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, s.Summary())
}

// answerJSON writes an answer. An error means that the client has gone.
func answerJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

// blocked tells the accounts that are not open.
func blocked(id string) bool { return strings.HasPrefix(id, "blocked") }
