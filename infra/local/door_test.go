package main_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// door lets calls of functions through to the emulator, but for those that a test
// waits for.
type door struct {
	behind http.Handler

	mu    sync.Mutex
	rules []*rule
}

// rule is what is done with a call in place of letting it through.
type rule struct {
	fits func(call) bool
	do   func(http.ResponseWriter)
	// times is how often; 0 is every time.
	times, done int
}

// call is a call as a rule sees it.
type call struct{ function, operation, body string }

// on adds a rule, and returns what takes it away.
func (d *door) on(r *rule) (off func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rules = append(d.rules, r)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		r.fits = func(call) bool { return false }
	}
}

// rule is the one that fits a call, if any.
func (d *door) rule(c call) *rule {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.rules {
		if (r.times == 0 || r.done < r.times) && r.fits(c) {
			r.done++
			return r
		}
	}
	return nil
}

// ServeHTTP passes a call on, or does what a rule says.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, function, _ := strings.Cut(r.UserAgent(), "app/triad-")
	function, _, _ = strings.Cut(function, " ")
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if rule := d.rule(call{function, operation, string(body)}); rule != nil {
		rule.do(w)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	d.behind.ServeHTTP(w, r)
}

// kill kills every process of a function, and returns how many there were.
func (d *deployment) kill(t *testing.T, function string) (n int) {
	emulator, found, err := d.Emulator()
	if err != nil || !found {
		t.Errorf("finding the emulator: %v, %v", found, err)
		return 0
	}
	all, err := emulator.Environment("AWS_LAMBDA_FUNCTION_NAME")
	if err != nil {
		t.Error(err)
	}
	for pid, name := range all {
		if name == d.Stack()+"-"+function && syscall.Kill(pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}

// killAt has every process of a function killed with kill -9 when one of them
// makes a call: the call never arrives. It happens once.
func (d *deployment) killAt(t *testing.T, fits func(call) bool) (killed func() int) {
	n := make(chan int, 1)
	var function string
	off := d.door.on(&rule{
		times: 1,
		fits: func(c call) bool {
			is := fits(c)
			if is {
				function = c.function
			}
			return is
		},
		do: func(http.ResponseWriter) {
			n <- d.kill(t, function)
			panic(http.ErrAbortHandler) // no answer
		},
	})
	return func() int {
		off()
		select {
		case killed := <-n:
			return killed
		default:
			return 0
		}
	}
}

// cut cuts a function off from everything until it is let back.
func (d *deployment) cut(function string) (back func()) {
	return d.door.on(&rule{
		fits: func(c call) bool { return c.function == function },
		do:   func(w http.ResponseWriter) { http.Error(w, "cut off", http.StatusServiceUnavailable) },
	})
}

// gap has a function find no order where there is one, once: as if it had read
// between two writes. It then has to read the task as one snapshot.
func (d *deployment) gap(function string) {
	d.door.on(&rule{
		times: 1,
		fits:  func(c call) bool { return c.function == function && c.operation == "GetItem" },
		do: func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			_, _ = io.WriteString(w, "{}")
		},
	})
}

// full has a function find every queue full, until there is room.
func (d *deployment) full(function string) (room func()) {
	return d.door.on(&rule{
		fits: func(c call) bool { return c.function == function && c.operation == "GetQueueAttributes" },
		do: func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			_, _ = io.WriteString(w, `{"Attributes": {"ApproximateNumberOfMessages": "9000", "ApproximateNumberOfMessagesNotVisible": "0", "ApproximateNumberOfMessagesDelayed": "0"}}`)
		},
	})
}
