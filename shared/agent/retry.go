package agent

import (
	"cmp"
	"math"
	"time"

	"triad/shared/task"
)

func withDefaults(r task.Retry) task.Retry {
	return task.Retry{
		Attempts: cmp.Or(max(0, r.Attempts), 3),
		First:    cmp.Or(max(0, r.First), 50*time.Millisecond),
		Factor:   max(1, cmp.Or(r.Factor, 2)),
		Max:      cmp.Or(max(0, r.Max), time.Second),
	}
}

// backoff is the wait after the given failed try, counted from 1: First *
// Factor^(try-1), at most Max, less up to half of it as jitter. The jitter is
// derived from the request, so that the same request waits the same time and
// different ones spread.
func backoff(r task.Retry, req *task.Request, try int) time.Duration {
	full := min(float64(r.First)*math.Pow(r.Factor, float64(try-1)), float64(r.Max))
	share := float64(spread(req.IdempotencyKey(), req.Attempt, try)%1024) / 1024
	return time.Duration(full * (1 - share/2))
}

// spread is a hash (FNV-1a, with its high bits folded in) of key and numbers.
func spread(key string, numbers ...int) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * prime
	}
	for _, n := range numbers {
		h = (h ^ uint64(n)) * prime
	}
	return h ^ h>>32
}

// wholeMillis rounds up: the least wait must not become shorter.
func wholeMillis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
