// Command cost runs the reference order on what stands in for AWS here, counts
// what AWS would bill, and prints the price beside those of AWS's own services.
// See --help, and docs/cost.md for what the numbers mean.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/alecthomas/kong"

	"triad/infra/cost/bill"
	"triad/infra/cost/count"
)

const about = `Count what an order of five steps costs on AWS, by running it.

The real engine runs over the real adapters of DynamoDB and SQS, on DynamoDB Local
and ElasticMQ, which "make standins" installs. What is assumed and what is left out
is printed with the bill; docs/cost.md explains it.

Examples:

    go run ./infra/cost
    go run ./infra/cost --json | jq '.runs[] | {path, batch, totalPerMillion}'
    go run ./infra/cost --order my-order.json --ms 40
    go run ./infra/cost --queues 6 --alarms 20 --sweep-seconds 60`

// options are the flags. The defaults of a deployment are those of template.yaml.
type options struct {
	JSON  bool   `help:"Print JSON."`
	Tasks int    `default:"10" placeholder:"N" help:"Orders of each run, in multiples of 10 (${default})."`
	Order []byte `type:"filecontent" placeholder:"FILE" help:"JSON content of the order. Defaults to 35 bytes."`
	Keep  int    `name:"keep-days" default:"90" help:"Days that orders are kept after their end; 0 for ever (${default})."`
	Ms    int    `default:"0" help:"Assume that each invocation is billed so many milliseconds at 256 MB; 0 leaves compute out (${default})."`

	Queues       int `default:"12" help:"Idle: queues with an event source (${default})."`
	Alarms       int `default:"47" help:"Idle: alarms (${default})."`
	Dashboards   int `default:"1" help:"Idle: dashboards (${default})."`
	Metrics      int `default:"3" help:"Idle: custom metrics that are written (${default})."`
	Shards       int `default:"16" help:"Idle: shards of the index (${default})."`
	SweepSeconds int `default:"15" enum:"5,6,10,12,15,20,30,60" help:"Idle: seconds between sweeps (${default})."`
}

// Validate says what is wrong with the flags.
func (o options) Validate() error {
	if o.Tasks < count.MaxBatch || o.Tasks%count.MaxBatch != 0 {
		return fmt.Errorf("--tasks is %d: take a multiple of %d, so that every batch is full", o.Tasks, count.MaxBatch)
	}
	if o.Order != nil && !json.Valid(o.Order) {
		return errors.New("--order: the file is not JSON")
	}
	return nil
}

func main() {
	var o options
	parsed := kong.Parse(&o, kong.Name("cost"), kong.Description(about), kong.ShortUsageOnError())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o, os.Stdout)
	stop()
	parsed.FatalIfErrorf(err)
}

func run(ctx context.Context, o options, to io.Writer) error {
	stage, err := count.Open()
	if err != nil {
		return err
	}
	defer stage.Close()
	var counts []count.Counts
	for _, path := range count.Paths() {
		for _, batch := range []int{1, 5, 10} {
			c, err := stage.Run(ctx, count.Config{
				Path: path, Tasks: o.Tasks, Batch: batch, Order: o.Order, Keep: time.Duration(o.Keep) * 24 * time.Hour,
			})
			if err != nil {
				return err
			}
			counts = append(counts, c)
		}
	}
	report := bill.New(counts, o.Keep, bill.Assumed{BilledMs: o.Ms, MemoryMB: 256}, bill.Deployment{
		Queues: o.Queues, Alarms: o.Alarms, Dashboards: o.Dashboards, Metrics: o.Metrics, Shards: o.Shards, SweepSeconds: o.SweepSeconds,
	})
	if !o.JSON {
		return report.Print(to)
	}
	e := json.NewEncoder(to)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(report)
}
