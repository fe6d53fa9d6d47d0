package bench

import (
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// times collects durations. It is safe for concurrent use.
type times struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram // microseconds
}

func newTimes() *times {
	return &times{h: hdrhistogram.New(1, (10 * time.Minute).Microseconds(), 3)}
}

func (t *times) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.h.RecordValue(max(1, d.Microseconds())) // over ten minutes: not in the picture
}

// quantile is in milliseconds.
func (t *times) quantile(q float64) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return float64(t.h.ValueAtQuantile(q)) / 1000
}

// cpuSeconds is what this process has used so far.
func cpuSeconds() float64 {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// peakMB is the most memory this process had resident so far.
func peakMB() float64 {
	peak := float64(usage().Maxrss)
	if runtime.GOOS == "darwin" {
		return peak / 1e6 // bytes there
	}
	return peak * 1024 / 1e6
}

func usage() syscall.Rusage {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for a bad argument
	return u
}
