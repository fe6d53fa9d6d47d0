package command

import (
	"bytes"
	"testing"

	"triad/infra/mutate/score"
)

func TestAMutantThatLivesIsAnError(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := options{}.say(&out, []score.Verdict{
		{Mutant: score.Mutant{Kind: "A", File: "it.go", Line: 1, Column: 2}, Change: "+ for -", Fate: score.Killed},
		{Mutant: score.Mutant{Kind: "B", File: "it.go", Line: 3, Column: 4}, Change: "< for <=", Fate: score.Alive},
		{Fate: score.Endless}, {Fate: score.Invalid},
	})
	const want = "it.go:3:4: B (< for <=) alive\n3 mutants: 1 killed by a test, 1 without an end, 1 alive; 1 more do not compile\n"
	if out.String() != want || err == nil {
		t.Errorf("error %v, said %q, want %q", err, out.String(), want)
	}
}
