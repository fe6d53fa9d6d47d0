package sim_test

import (
	"testing"

	"triad/shared/sim"
	"triad/workflows"
)

func BenchmarkSeeds(b *testing.B) {
	samples, err := sim.Samples(workflows.FS)
	if err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		if r := sim.Run(sim.Options{Seed: uint64(i)}, samples); r.Violation != nil {
			b.Fatal(r.Violation)
		}
	}
}
