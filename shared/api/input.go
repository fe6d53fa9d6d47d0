package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"triad/shared/queue"
	"triad/shared/task"
)

// readBody reads a whole body of at most queue.MaxBody bytes.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > queue.MaxBody {
		return nil, &http.MaxBytesError{Limit: queue.MaxBody}
	}
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, queue.MaxBody)); err != nil {
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			return nil, long
		}
		return nil, failf(http.StatusBadRequest, CodeInvalid, "", "reading the body: it ends too early")
	}
	return body.Bytes(), nil
}

// checkJSON refuses a body that says it is something else than JSON in UTF-8.
func checkJSON(r *http.Request) error {
	given := r.Header.Get("Content-Type")
	if given == "" || given == "application/json" {
		return nil
	}
	media, params, err := mime.ParseMediaType(given)
	charset, has := params["charset"]
	switch {
	case err != nil, media != "application/json":
		return failf(http.StatusUnsupportedMediaType, CodeMediaType, "Content-Type",
			"Content-Type is %q: send application/json", shorten(given))
	case has && !strings.EqualFold(charset, "utf-8"):
		return failf(http.StatusUnsupportedMediaType, CodeMediaType, "Content-Type",
			"the charset is %q: send UTF-8", shorten(charset))
	}
	return nil
}

// readJSON reads an optional JSON body into v, strictly. Nesting is bounded by
// encoding/json.
func readJSON(w http.ResponseWriter, r *http.Request, v any) error {
	if err := checkJSON(r); err != nil {
		return err
	}
	body, err := readBody(w, r)
	if err != nil || len(bytes.TrimSpace(body)) == 0 {
		return err
	}
	if !utf8.Valid(body) {
		return failf(http.StatusBadRequest, CodeInvalid, "", "the body is not UTF-8 text: send JSON in UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return badJSON(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return failf(http.StatusBadRequest, CodeInvalid, "", "something follows the JSON value at byte %d", dec.InputOffset())
	}
	return nil
}

func badJSON(err error) error {
	field := ""
	var wrong *json.UnmarshalTypeError
	message := "not JSON: " + strings.TrimPrefix(err.Error(), "json: ")
	if errors.As(err, &wrong) {
		field = wrong.Field
		message = fmt.Sprintf("a JSON %s can't be used here: %s is needed", wrong.Value, wrong.Type.Kind())
	} else if name, found := strings.CutPrefix(err.Error(), "json: unknown field "); found {
		field = strings.Trim(name, `"`)
		message = "this field is not known"
	}
	if field != "" {
		message = "field " + shorten(field) + ": " + message
	}
	return failf(http.StatusBadRequest, CodeInvalid, field, "%s", message)
}

// taskID is the id in the path.
func taskID(r *http.Request) (task.ID, error) {
	id := task.ID(r.PathValue("id"))
	if err := task.ValidateID(id); err != nil {
		return "", failf(http.StatusBadRequest, CodeInvalid, "id", "%s", err)
	}
	return id, nil
}

// seqOf is the sequence number in the path.
func seqOf(r *http.Request) (int64, error) {
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	if err != nil || seq < 1 {
		return 0, failf(http.StatusBadRequest, CodeInvalid, "seq", "seq is %q: a whole number from 1 is needed", shorten(r.PathValue("seq")))
	}
	return seq, nil
}

// query reads the query parameters and keeps the first error.
type query struct {
	values url.Values
	err    error
}

// parameters reads the query; only the names given are known, each once.
func parameters(r *http.Request, known ...string) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.fail("", "the query can't be read: %v", err)
	}
	for name, all := range values {
		if !slices.Contains(known, name) {
			q.fail(name, "there is no parameter %q: known are %s", shorten(name), strings.Join(known, ", "))
		} else if len(all) > 1 {
			q.fail(name, "parameter %s is given %d times", name, len(all))
		}
	}
	return q
}

func (q *query) fail(field, message string, args ...any) {
	if q.err == nil {
		q.err = failf(http.StatusBadRequest, CodeInvalid, shorten(field), message, args...)
	}
}

// text is a parameter of at most 512 bytes.
func (q *query) text(name string) string {
	v := q.values.Get(name)
	if len(v) > 512 || !utf8.ValidString(v) {
		q.fail(name, "parameter %s must be UTF-8 text of at most 512 bytes", name)
		return ""
	}
	return v
}

// whole is a parameter that is a whole number.
func (q *query) whole(name string, least, most, otherwise int64) int64 {
	v := q.values.Get(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		q.fail(name, "parameter %s is %q: a whole number from %d to %d is needed", name, shorten(v), least, most)
		return otherwise
	}
	return n
}

func (q *query) truth(name string) bool {
	switch v := q.values.Get(name); v {
	case "", "false":
		return false
	case "true":
		return true
	default:
		q.fail(name, "parameter %s is %q: true or false is needed", name, shorten(v))
		return false
	}
}

func (q *query) duration(name string, most time.Duration) time.Duration {
	v := q.values.Get(name)
	if v == "" {
		return 0
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 || d > most {
		q.fail(name, "parameter %s is %q: a duration up to %s is needed, as 5s", name, shorten(v), most)
		return 0
	}
	return d
}
