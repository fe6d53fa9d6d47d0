package command

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"text/tabwriter"

	"triad/cmd/triad/bench"
)

// BenchCommand measures the embedded engine.
type BenchCommand struct {
	InFlight int     `default:"256" placeholder:"N" help:"Tasks under way at once (${default})."`
	Seconds  float64 `default:"10" help:"How long the engine is measured (${default})."`
	Steps    int     `default:"5" help:"Steps of a task, in sequence (${default})."`
	Dir      string  `default:".local" help:"Directory on the disk to measure (${default}); a new one is made in it, and removed."`
	Backlog  int     `placeholder:"N" help:"Instead: submit N tasks while nothing works on them, and start again with them."`
}

// Help is shown below the flags.
func (*BenchCommand) Help() string {
	return `Full durability, agents that do no work. The floor is measured in the same run: what the
store alone does with as many callers. Compare ratios, not figures of different machines.

Examples:

  triad bench
  triad bench --in-flight 64 --steps 3 --json
  triad bench --backlog 1000000`
}

// Run measures and prints.
func (c *BenchCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	if c.InFlight < 1 || c.InFlight > 10_000 || c.Steps < 1 || c.Steps > 64 || c.Seconds < 0.3 || c.Backlog < 0 {
		return misused("see triad bench --help", "--in-flight is 1 to 10,000, --steps 1 to 64, --seconds at least 0.3, --backlog at least 0")
	}
	env.tune()
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return fmt.Errorf("making the directory to measure: %w", err)
	}
	dir, err := os.MkdirTemp(c.Dir, "bench-")
	if err != nil {
		return fmt.Errorf("making a directory to measure in: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	config := bench.Config{Dir: dir, InFlight: c.InFlight, Steps: c.Steps, Seconds: c.Seconds, Progress: env.note}
	var result any
	if c.Backlog > 0 {
		result, err = bench.RunBacklog(ctx, config, c.Backlog)
	} else {
		result, err = bench.Run(ctx, config)
	}
	if err != nil {
		return err
	}
	if g.JSON {
		return json.NewEncoder(env.Stdout).Encode(result)
	}
	return env.figures(result)
}

// figures prints every figure of a result by its JSON name.
func (e *Env) figures(result any) error {
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	v := reflect.ValueOf(result)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		text := fmt.Sprint(v.Field(i).Interface())
		if f, isFloat := v.Field(i).Interface().(float64); isFloat {
			text = fmt.Sprintf("%.*f", decimals(f), f)
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t\n", name, text); err != nil {
			return err
		}
	}
	return w.Flush()
}

func decimals(f float64) int {
	if f >= 1000 {
		return 0
	}
	return 3
}

// quiet is the logger of commands that show what happens themselves.
func (e *Env) quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
