package bench_test

import (
	"testing"

	"triad/cmd/triad/bench"
)

// What a run counts is the same on every machine; what it times is not tested.
func TestARunCounts(t *testing.T) {
	t.Parallel()
	r, err := bench.Run(t.Context(), bench.Config{Dir: t.TempDir(), InFlight: 4, Steps: 3, Seconds: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	if r.CommitsPerTask != 4 {
		t.Errorf("a task of three steps took %v commits, want one to create it and one for each step", r.CommitsPerTask)
	}
	if r.Tasks == 0 || r.FsyncsPerTask <= 0 || r.FsyncsPerTask > 4.1 || r.BytesPerTask <= 0 || r.RSS <= 0 || r.RatioToFloor <= 0 {
		t.Errorf("got %+v", r)
	}
}

func TestABacklogIsFoundAgainAndDrained(t *testing.T) {
	t.Parallel()
	const n = 300
	r, err := bench.RunBacklog(t.Context(), bench.Config{Dir: t.TempDir(), InFlight: 8, Steps: 1, Seconds: 1}, n)
	if err != nil {
		t.Fatal(err)
	}
	if r.Tasks != n || r.Unfinished != n || r.DrainPerS <= 0 || r.FileMB <= 0 {
		t.Errorf("got %+v", r)
	}
}
