package api

import (
	"context"
	"log/slog"
	"net/http"
	"path"
	"sync/atomic"
	"time"

	"triad/shared/doctor"
	"triad/shared/operator"
	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/submission"
	"triad/shared/task"
)

// Submitter accepts submissions; *submission.Submission is one.
type Submitter interface {
	Submit(ctx context.Context, sub task.Submission) (submission.Receipt, error)
	Handle(ctx context.Context, d queue.Delivery) error
}

// Operator applies verbs to tasks; *operator.Operator is one.
type Operator interface {
	Do(ctx context.Context, id task.ID, a operator.Ask) (task.Task, error)
}

// Tasks reads tasks; every store.Store is one.
type Tasks interface {
	Load(ctx context.Context, id task.ID) (task.Task, error)
	List(ctx context.Context, q store.ListQuery) (store.ListPage, error)
}

// Kept reads what outlives the process beside the tasks; every store.Ledger is
// one.
type Kept interface {
	Rejections(ctx context.Context, after int64, limit int) ([]store.Rejected, error)
	Dismiss(ctx context.Context, seq int64) error
	Mail() store.Mail
}

// Doctor examines a deployment; *doctor.Doctor is one.
type Doctor interface {
	Examine(ctx context.Context, o doctor.Options) (doctor.Report, error)
}

// Config makes the handler. Submit, Operate, Store and Ledger are required.
type Config struct {
	Submit  Submitter
	Operate Operator
	Store   Tasks
	Ledger  Kept
	// Workflows lists the definitions on offer. Defaults to none.
	Workflows func() []task.Workflow
	// Metrics serves GET /metrics. Defaults to answering 404.
	Metrics http.Handler
	// Ready says what keeps the engine from working, for GET /healthz. Defaults
	// to nothing.
	Ready func() error
	// Doctor examines the deployment. Defaults to answering 404.
	Doctor Doctor
	// Findings is how many things were found wrong at the last routine
	// examination. Defaults to none.
	Findings func() int
	// Full reports that no submission can be taken now, and when to try again.
	// It is asked for every submission, so it has to be cheap. Defaults to
	// never.
	Full func() (retryAfter time.Duration, full bool)
	// MaxSubmits is how many submissions may be under way at once; those beyond
	// are answered 429. Defaults to 1,024.
	MaxSubmits int
	// Hosts are the names, without port, that a request's Host may have beside
	// the loopback names. Defaults to none.
	Hosts []string
	// Explain tells the cause of an answer 5xx, for callers who own the store.
	// Defaults to hiding it in the log.
	Explain func(cause error) string
	// Logger gets one line for each answer 5xx that hides its cause. Defaults
	// to discarding.
	Logger *slog.Logger
}

// server is the handler. It is safe for concurrent use.
type server struct {
	Config
	mux    *http.ServeMux
	guard  guard
	active atomic.Int64 // submissions under way
}

// New returns the handler. It serves every path, so mount it at the root. Long
// polls end with their request's context: cancel that to shut down quickly.
func New(c Config) http.Handler {
	if c.MaxSubmits <= 0 {
		c.MaxSubmits = 1024
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{Config: c, mux: http.NewServeMux(), guard: newGuard(c.Hosts)}
	s.register()
	return s
}

// ServeHTTP guards the door and routes. A path that is not in its plain form is
// unknown: the mux would answer it with a redirect.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["X-Content-Type-Options"] = []string{"nosniff"}
	h["Cache-Control"] = []string{"no-store"}
	if err := s.guard.check(r); err != nil {
		s.refuse(w, r, err)
		return
	}
	if p := r.URL.Path; p != "/" && path.Clean(p) != p {
		s.refuse(w, r, unknownPath(r))
		return
	}
	s.mux.ServeHTTP(w, r)
}
