package bill_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"triad/infra/cost/bill"
	"triad/infra/cost/count"
)

// ten is ten orders at full batches, as they were once counted.
var ten = count.Counts{
	Path: count.Plain, Tasks: 10, Batch: 10,
	Writes:      count.Units{Tasks: 70, Orders: 20, Index: 20},
	Reads:       count.Units{Tasks: 50, Orders: 50},
	Messages:    110,
	Requests:    count.Requests{Send: 21, Receive: 11, Delete: 11, Notices: 20},
	Invocations: map[string]int{"submission": 1, "scheduler": 5, "agents": 5},
	LargestItem: 628,
}

var deployment = bill.Deployment{Queues: 12, Alarms: 47, Dashboards: 1, Metrics: 3, Shards: 16, SweepSeconds: 15}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// TestAMillionOrdersByHand: 11 units, 10 units, 6.3 requests and 1.1 invocations
// each, by the list.
func TestAMillionOrdersByHand(t *testing.T) {
	t.Parallel()
	r := bill.List().Price(ten, bill.Assumed{})
	near(t, "11 write units at $0.625", r.PerMillion.Writes, 6.875)
	near(t, "10 read units at $0.125", r.PerMillion.Reads, 1.25)
	near(t, "6.3 requests at $0.40", r.PerMillion.Requests, 2.52)
	near(t, "1.1 invocations at $0.20", r.PerMillion.Invocations, 0.22)
	near(t, "compute", r.PerMillion.Compute, 0)
	near(t, "the sum", r.Total, 10.865)
}

// TestComputeIsWhatIsAssumed: 1.1 invocations of 40 ms at 256 MB are 0.011
// GB-seconds.
func TestComputeIsWhatIsAssumed(t *testing.T) {
	t.Parallel()
	r := bill.List().Price(ten, bill.Assumed{BilledMs: 40, MemoryMB: 256})
	near(t, "0.011 GB-seconds at $13.3334", r.PerMillion.Compute, 0.011*13.3334)
	near(t, "the sum", r.Total, 10.865+0.011*13.3334)
}

// TestTheOtherWaysByHand: each with the fewest billed things that do the work.
func TestTheOtherWaysByHand(t *testing.T) {
	t.Parallel()
	agents := 5 * 0.20
	express := func(seconds float64) float64 { return 1 + seconds*1e6/3_600*64/1_024*0.06 + agents }
	gigabytes := 6.0 * 1e6 / (1 << 20)
	want := map[string]float64{
		"Step Functions Standard":       5*25 + agents,
		"Step Functions Express, 0.2 s": express(0.2),
		"Step Functions Express, 5 s":   express(5),
		"Step Functions Express, 30 s":  express(30),
		"Lambda durable functions":      6*8 + gigabytes*0.25 + gigabytes*0.15*14/30 + 0.20,
	}
	got := bill.List().Rivals(bill.Assumed{})
	if len(got) != len(want) {
		t.Errorf("got %d other ways, want %d", len(got), len(want))
	}
	for _, r := range got {
		near(t, r.Name, r.PerMillion, want[r.Name])
	}
}

// TestExpressIsCheaperForShortOrders, and the bill says up to where.
func TestExpressIsCheaperForShortOrders(t *testing.T) {
	t.Parallel()
	p := bill.List()
	r := p.Price(ten, bill.Assumed{})
	seconds := p.Even(r, bill.Assumed{})
	near(t, "Express for so many seconds", 1+seconds*1e6/3_600*64/1_024*0.06+1, r.Total)
	if seconds < 1 || seconds > 30 {
		t.Errorf("got %v seconds, want some: 0.2 s is cheaper there, 30 s is cheaper here", seconds)
	}
	cheap := r
	cheap.Total = 0.5
	near(t, "an order that costs less than the start of a workflow", p.Even(cheap, bill.Assumed{}), 0)
}

// TestAnIdleMonthByHand: 30 days. An event source makes 5 polls every 20 s.
func TestAnIdleMonthByHand(t *testing.T) {
	t.Parallel()
	const minutes = 43_200
	for name, test := range map[string]struct {
		d    bill.Deployment
		want []float64
	}{
		"a sweep every 15 s": {deployment, []float64{
			12 * 0.648 * 0.40, 4.70, 3, 0.90,
			minutes*(1+2*3)/1e6*0.40 + minutes*4/1e6*0.20,
			minutes * 4 * (16 + 24) * 0.5 / 1e6 * 0.125,
		}},
		"every 5 s, in two sends": {bill.Deployment{Queues: 1, Shards: 1, SweepSeconds: 5}, []float64{
			0.648 * 0.40, 0, 0, 0,
			minutes*(2+2*11)/1e6*0.40 + minutes*12/1e6*0.20,
			minutes * 12 * (1 + 24) * 0.5 / 1e6 * 0.125,
		}},
		"every minute, without messages": {bill.Deployment{Shards: 1, SweepSeconds: 60}, []float64{
			0, 0, 0, 0, minutes / 1e6 * 0.20, minutes * (1 + 24) * 0.5 / 1e6 * 0.125,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := bill.List().Idle(test.d)
			if len(lines) != len(test.want) {
				t.Fatalf("got %d lines, want %d", len(lines), len(test.want))
			}
			for i, line := range lines {
				near(t, line.For, line.Dollars, test.want[i])
			}
		})
	}
}

// TestTheIdleMonthHasToBeEarned: the other ways cost nothing when idle.
func TestTheIdleMonthHasToBeEarned(t *testing.T) {
	t.Parallel()
	r := bill.List().Price(ten, bill.Assumed{})
	month := []bill.Line{{Dollars: 4}, {Dollars: 6}}
	near(t, "$10 by $100 less a million", bill.Pays(month, r, bill.Rival{PerMillion: r.Total + 100}), 100_000)
	near(t, "a cheaper way", bill.Pays(month, r, bill.Rival{PerMillion: r.Total - 1}), 0)
}

func TestTheBillShowsWhatIsCheaperElsewhere(t *testing.T) {
	t.Parallel()
	failed := ten
	failed.Path = count.Compensated
	var out bytes.Buffer
	if err := bill.New([]count.Counts{ten, failed}, 90, bill.Assumed{}, deployment).Print(&out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"kept for 90 days", "write units, Tasks 7 ", "SQS requests, send 2.1 ", "Triad 10.87 ",
		"Step Functions Express, 0.2 s 2.21 0.20 ", "Step Functions Standard 126.00 11.60 ",
		"compensated 11 10 11 10.87 ", "sum 12.30 ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the bill does not say %q:\n%s", want, out.String())
		}
	}
}

func TestTheBillIsJSONForScripts(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(bill.New([]count.Counts{ten}, 0, bill.Assumed{}, deployment))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Runs []struct {
			Path            string
			Tasks, Batch    int
			WriteUnits      count.Units
			TotalPerMillion float64
		}
		Elsewhere, IdleMonth, Prices []any
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Runs) != 1 || len(got.Elsewhere) == 0 || len(got.IdleMonth) == 0 || len(got.Prices) == 0 {
		t.Fatalf("a part is missing: %s", text)
	}
	if r := got.Runs[0]; r.Path != "plain" || r.Tasks != 10 || r.Batch != 10 || r.WriteUnits != ten.Writes {
		t.Errorf("got %+v, want what was counted", r)
	}
	near(t, "the price", got.Runs[0].TotalPerMillion, 10.865)
}

// TestTheDocumentHasThePrices that the bill is made with, and their sources.
func TestTheDocumentHasThePrices(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/cost.md")
	if err != nil {
		t.Fatal(err)
	}
	document := string(text)
	if !strings.Contains(document, bill.Region) || !strings.Contains(document, bill.Dated) {
		t.Errorf("docs/cost.md does not say that the prices are those of %s on %s", bill.Region, bill.Dated)
	}
	for _, p := range bill.List().All() {
		amount := fmt.Sprintf("$%g for %g %s", p.Dollars, p.Per, p.Unit)
		if p.Per == 1e6 {
			amount = fmt.Sprintf("$%g for a million %s", p.Dollars, p.Unit)
		}
		row := fmt.Sprintf("| %s | %s | <%s> |", p.Of, amount, p.Source)
		if !strings.Contains(document, row) {
			t.Errorf("docs/cost.md has no row\n%s", row)
		}
	}
}
