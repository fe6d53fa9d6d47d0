package bill

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"triad/infra/cost/count"
)

// Report is a whole bill. Its JSON is for scripts.
type Report struct {
	Region     string     `json:"region"`
	Dated      string     `json:"pricesOf"`
	KeepDays   int        `json:"keepDays"`
	Assumed    Assumed    `json:"assumed"`
	Deployment Deployment `json:"deployment"`
	// Runs are ordered by path, then batch; every path has the same batches.
	Runs   []Run    `json:"runs"`
	Rivals []Rival  `json:"elsewhere"`
	Idle   []Line   `json:"idleMonth"`
	Prices []Price  `json:"prices"`
	Notes  []string `json:"notes"`
}

// New makes the bill of some runs.
func New(counts []count.Counts, keepDays int, a Assumed, d Deployment) Report {
	p := List()
	r := Report{Region: Region, Dated: Dated, KeepDays: keepDays, Assumed: a, Deployment: d,
		Rivals: p.Rivals(a), Idle: p.Idle(d), Prices: p.All(), Notes: notes(p, a, d)}
	for _, c := range counts {
		r.Runs = append(r.Runs, p.Price(c, a))
	}
	return r
}

// How many queues are not an agent's: submissions, scheduler, ticks. And how many
// orders a look at the agents' queues serves, as shared/cloud has it. A test of the
// template holds both against what is deployed.
const (
	notAgents = 3
	lookAfter = 50
)

// notes say how to read the bill, and what is not on it.
func notes(p Prices, a Assumed, d Deployment) []string {
	compute := "compute (GB-seconds; --ms assumes some)"
	if a.BilledMs > 0 {
		compute = fmt.Sprintf("what compute differs from the assumed %d ms at %d MB for an invocation", a.BilledMs, a.MemoryMB)
	}
	return []string{
		"Units are those that DynamoDB Local reports, with one correction: in a transaction it doubles the index, and AWS does not.",
		"Sends are counted as sqsqueue.Batcher makes them when the messages of a batch are handled at the same pace: one goes alone, the others together.",
		"Left out, here and elsewhere: " + compute + ", logs, storage, backups, data transfer, free tiers, what the services behind the agents cost.",
		"Left out elsewhere: what starts the workflow. Triad's submission is counted, and so are the application's notices.",
		fmt.Sprintf("Left out: a Submission function asks the %d agents' queues how much waits, once in %d orders or more seldom (each 10 s while one is half full): $%.2f.",
			d.Queues-notAgents, lookAfter, p.Request.Cost(million*float64(d.Queues-notAgents)/lookAfter)),
		"The Supervisor's ticks, and its looks at the index, are on the bill of the idle month.",
		"An Express workflow runs for 5 minutes at most and keeps no state between its steps: after a failure it starts from the beginning.",
	}
}

// path returns the runs of a path, by batch.
func (r Report) path(p count.Path) (runs []Run) {
	for _, run := range r.Runs {
		if run.Path == p {
			runs = append(runs, run)
		}
	}
	return runs
}

// Print writes the bill for people.
func (r Report) Print(to io.Writer) error {
	t := &table{w: to}
	if plain := r.path(count.Plain); len(plain) > 0 {
		r.printOrder(t, plain)
		r.printElsewhere(t, plain)
	}
	r.printPaths(t)
	r.printIdle(t)
	if plain := r.path(count.Plain); len(plain) > 0 {
		r.printPays(t, plain)
	}
	t.head("Read it with this")
	for _, n := range r.Notes {
		t.text("- " + n)
	}
	return t.err
}

func (r Report) printOrder(t *table, runs []Run) {
	kept := "kept for ever"
	if r.KeepDays > 0 {
		kept = fmt.Sprintf("kept for %d days", r.KeepDays)
	}
	t.head(fmt.Sprintf("One order of five steps, %s: counted, the mean of %d. f messages share a call and an invocation.", kept, runs[0].Tasks))
	t.row("", each(runs, func(r Run) string { return fmt.Sprintf("f=%d", r.Batch) })...)
	number := func(label string, of func(Run) float64) {
		t.row(label, each(runs, func(r Run) string { return short(r.Per(of(r))) })...)
	}
	number("write units, Tasks", func(r Run) float64 { return r.Writes.Tasks })
	number("write units, Orders", func(r Run) float64 { return r.Writes.Orders })
	number("write units, index", func(r Run) float64 { return r.Writes.Index })
	number("read units", func(r Run) float64 { return r.Reads.Total() })
	number("queue messages", func(r Run) float64 { return float64(r.Messages) })
	number("SQS requests, send", func(r Run) float64 { return float64(r.Requests.Send) })
	number("SQS requests, receive", func(r Run) float64 { return float64(r.Requests.Receive) })
	number("SQS requests, delete", func(r Run) float64 { return float64(r.Requests.Delete) })
	number("SQS requests, notices", func(r Run) float64 { return float64(r.Requests.Notices) })
	number("Lambda invocations", func(r Run) float64 { return float64(r.Invoked()) })
	t.row("largest item, bytes", each(runs, func(r Run) string { return strconv.Itoa(r.LargestItem) })...)

	t.head(fmt.Sprintf("$ for a million of them, list prices of %s on %s", r.Region, r.Dated))
	dollars := func(label string, of func(Dollars) float64) {
		t.row(label, each(runs, func(r Run) string { return money(of(r.PerMillion)) })...)
	}
	dollars("DynamoDB writes", func(d Dollars) float64 { return d.Writes })
	dollars("DynamoDB reads", func(d Dollars) float64 { return d.Reads })
	dollars("SQS", func(d Dollars) float64 { return d.Requests })
	dollars("Lambda requests", func(d Dollars) float64 { return d.Invocations })
	if r.Assumed.BilledMs > 0 {
		dollars("Lambda compute, assumed", func(d Dollars) float64 { return d.Compute })
	}
	dollars("Triad", Dollars.Total)
}

func (r Report) printElsewhere(t *table, runs []Run) {
	t.head("The same elsewhere: $ for a million, and how many times the price of Triad that is (below 1: it is cheaper)")
	head := each(runs, func(r Run) string { return fmt.Sprintf("x, f=%d", r.Batch) })
	t.row("", append([]string{"$"}, head...)...)
	for _, rival := range r.Rivals {
		times := each(runs, func(run Run) string { return strconv.FormatFloat(rival.PerMillion/run.Total, 'f', 2, 64) })
		t.row(rival.Name, append([]string{money(rival.PerMillion)}, times...)...)
	}
	p := List()
	t.row("Express costs less below, s", append([]string{""}, each(runs, func(run Run) string {
		return strconv.FormatFloat(p.Even(run, r.Assumed), 'f', 1, 64)
	})...)...)
}

func (r Report) printPaths(t *table) {
	t.head("When a step fails: units, messages and $ for a million orders")
	first := true
	for _, path := range count.Paths() {
		runs := r.path(path)
		if len(runs) == 0 {
			continue
		}
		if first {
			t.row("", append([]string{"writes", "reads", "messages"}, each(runs, func(r Run) string { return fmt.Sprintf("$, f=%d", r.Batch) })...)...)
			first = false
		}
		one := runs[0]
		cells := []string{short(one.Per(one.Writes.Total())), short(one.Per(one.Reads.Total())), short(one.Per(float64(one.Messages)))}
		t.row(string(path), append(cells, each(runs, func(r Run) string { return money(r.Total) })...)...)
	}
}

func (r Report) printIdle(t *table) {
	t.head("Idle: $ a month with no order at all")
	sum := 0.0
	for _, line := range r.Idle {
		sum += line.Dollars
		t.row(fmt.Sprintf("%s: %s", line.For, line.How), money(line.Dollars))
	}
	t.row("sum", money(sum))
}

// printPays says what the idle month means: the others cost nothing then.
func (r Report) printPays(t *table, runs []Run) {
	t.head("Idle month included: Triad is cheaper from so many orders a month (-: never)")
	t.row("", each(runs, func(r Run) string { return fmt.Sprintf("f=%d", r.Batch) })...)
	for _, rival := range r.Rivals {
		t.row(rival.Name, each(runs, func(run Run) string {
			if n := Pays(r.Idle, run, rival); n > 0 {
				return strconv.FormatFloat(n, 'f', 0, 64)
			}
			return "-"
		})...)
	}
}

// table writes rows in columns, and text between them.
type table struct {
	w    io.Writer
	rows [][]string
	err  error
}

// row adds a line: its label to the left, its cells to the right of their columns.
func (t *table) row(label string, cells ...string) {
	t.rows = append(t.rows, append([]string{label}, cells...))
}

// head ends the columns and begins a part of the bill.
func (t *table) head(title string) { t.text("\n" + title) }

// text ends the columns.
func (t *table) text(line string) {
	t.flush()
	t.print(line)
}

func (t *table) flush() {
	var widths []int
	for _, r := range t.rows {
		widths = append(widths, make([]int, max(0, len(r)-len(widths)))...)
		for i, cell := range r {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, r := range t.rows {
		line := fmt.Sprintf("  %-*s", widths[0], r[0])
		for i, cell := range r[1:] {
			line += fmt.Sprintf("  %*s", widths[i+1], cell)
		}
		t.print(line)
	}
	t.rows = nil
}

func (t *table) print(line string) {
	if t.err == nil {
		_, t.err = fmt.Fprintln(t.w, line)
	}
}

// each is a text for every run.
func each(runs []Run, of func(Run) string) []string {
	cells := make([]string, len(runs))
	for i, r := range runs {
		cells[i] = of(r)
	}
	return cells
}

func money(d float64) string { return strconv.FormatFloat(d, 'f', 2, 64) }

// short is a number with at most two decimals.
func short(n float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(n, 'f', 2, 64), "0"), ".")
}
