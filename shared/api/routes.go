package api

import (
	"net/http"
	"slices"
	"strings"
)

// Route is a method and a path; names in braces stand for one segment.
type Route struct{ Method, Path string }

// handler serves one route. A returned error is answered by server.refuse; it
// must then have written nothing.
type handler func(s *server, w http.ResponseWriter, r *http.Request) error

// routes is the whole interface as data.
var routes = [...]struct {
	Route
	serve handler
}{
	{Route{"POST", "/v1/tasks"}, (*server).submit},
	{Route{"GET", "/v1/tasks"}, (*server).listTasks},
	{Route{"GET", "/v1/tasks/{id}"}, (*server).showTask},
	{Route{"POST", "/v1/tasks/{id}/{verb}"}, (*server).ask},
	{Route{"GET", "/v1/workflows"}, (*server).listWorkflows},
	{Route{"GET", "/v1/rejected"}, (*server).listRejected},
	{Route{"POST", "/v1/rejected/{seq}/resend"}, (*server).resend},
	{Route{"DELETE", "/v1/rejected/{seq}"}, (*server).dismiss},
	{Route{"POST", "/v1/queues/submissions"}, (*server).enqueue},
	{Route{"GET", "/v1/queues/{queue}/notices"}, (*server).listNotices},
	{Route{"DELETE", "/v1/queues/{queue}/notices/{seq}"}, (*server).acknowledge},
	{Route{"GET", "/v1/alerts"}, (*server).listAlerts},
	{Route{"GET", "/v1/doctor"}, (*server).examine},
	{Route{"GET", "/healthz"}, (*server).health},
	{Route{"GET", "/metrics"}, (*server).metrics},
}

// Routes lists every route that is served. A GET route serves HEAD too.
func Routes() []Route {
	out := make([]Route, len(routes))
	for i := range routes {
		out[i] = routes[i].Route
	}
	return out
}

// register fills the mux: the routes, for each of their paths an answer to other
// methods, and an answer to all other paths.
func (s *server) register() {
	allowed := map[string][]string{}
	for _, route := range routes {
		s.mux.HandleFunc(route.Method+" "+route.Path, s.answering(route.serve))
		allowed[route.Path] = append(allowed[route.Path], route.Method)
	}
	for p, methods := range allowed {
		slices.Sort(methods)
		s.mux.HandleFunc(p, s.answering(wrongMethod(strings.Join(methods, ", "))))
	}
	s.mux.HandleFunc("/", s.answering(func(_ *server, _ http.ResponseWriter, r *http.Request) error {
		return unknownPath(r)
	}))
}

func (s *server) answering(serve handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := serve(s, w, r); err != nil {
			s.refuse(w, r, err)
		}
	}
}

func wrongMethod(allow string) handler {
	return func(_ *server, w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Allow", allow)
		return failf(http.StatusMethodNotAllowed, CodeMethod, "", "%s is not possible here: use %s", shorten(r.Method), allow)
	}
}

func unknownPath(r *http.Request) error {
	return failf(http.StatusNotFound, CodeNotFound, "", "there is nothing at %q: the paths are in docs/openapi.yaml", shorten(r.URL.Path))
}
