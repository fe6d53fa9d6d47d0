package cloud

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"testing"

	"triad/shared/store/memstore"
	"triad/shared/supervisor"
	"triad/shared/telemetry/emf"
)

// backlog is a Supervisor with so many sweeps' worth of overdue tasks, each of which
// asks agents for so much.
type backlog struct {
	sweeps int
	each   depth
	queue  depth
	did    []string
}

func (b *backlog) Sweep(context.Context) (supervisor.Report, error) {
	b.sweeps--
	b.queue += b.each
	b.did = append(b.did, "sweep")
	return supervisor.Report{More: b.sweeps > 0}, nil
}

func (b *backlog) Admit(context.Context, int) (supervisor.Report, error) {
	b.did = append(b.did, "admit")
	return supervisor.Report{}, nil
}

func TestATickRecoversNoMoreThanAgentsHaveRoomFor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		backlog backlog
		limit   int
		sweeps  int
	}{
		"one sweep finds all":            {backlog{sweeps: 1, each: 10}, 100, 1},
		"as long as there is room":       {backlog{sweeps: 5, each: 10}, 100, 5},
		"until the queues are full":      {backlog{sweeps: 5, each: 50}, 100, 2},
		"one sweep also when they are":   {backlog{sweeps: 5, queue: 100}, 100, 1},
		"without a limit, until the end": {backlog{sweeps: 5, each: 50}, 0, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := test.backlog
			w := &watch{
				supervisor: &b, store: memstore.New(), metrics: emf.New(emf.Config{Stack: "triad", Function: "supervisor", Out: io.Discard}),
				room: &room{queues: map[string]depther{"agent": &b.queue}, limit: test.limit, logger: slog.New(slog.DiscardHandler)},
			}
			if err := w.tick(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			if want := slices.Repeat([]string{"sweep"}, test.sweeps); !slices.Equal(b.did, want) {
				t.Errorf("the tick did %v, want %v", b.did, want)
			}
		})
	}
}
