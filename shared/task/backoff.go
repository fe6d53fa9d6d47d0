package task

import (
	"hash/fnv"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// longestWait bounds the wait before an attempt where no Max is given, and what
// a service may ask for.
const longestWait = 24 * time.Hour

// backoff is the full wait after the given number of failures.
func backoff(r Retry, failures int) time.Duration {
	d := float64(r.First) * math.Pow(max(r.Factor, 1), float64(max(failures-1, 0)))
	limit := r.Max
	if limit <= 0 {
		limit = max(r.First, longestWait)
	}
	return time.Duration(min(d, float64(limit))) // it may be beyond what a Duration can hold
}

// jitter is a number in [0, 1) that is the same whenever it is asked for.
func jitter(id ID, step string, attempt int) float64 {
	h := fnv.New64a()
	for _, s := range []string{string(id), "/", step, "/", strconv.Itoa(attempt)} {
		_, _ = h.Write([]byte(s)) // a hash's Write never fails
	}
	// FNV's last byte barely reaches the high bits: mix them, as xxhash's avalanche
	// begins. What follows there reaches no bit that counts in a wait of milliseconds.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xc2b2ae3d27d4eb4f
	return float64(x>>11) / (1 << 53)
}

// cut shortens an error text to MaxError bytes of valid UTF-8.
func cut(s string) string {
	if len(s) <= MaxError {
		return s
	}
	end := MaxError - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
