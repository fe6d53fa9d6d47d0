package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"triad/shared/api"
	"triad/shared/task"
)

// clean replaces control characters, which could drive the terminal or fake
// lines. Direction marks count as such.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
}

// document prints one JSON document.
func (e *Env) document(v any) error { return encode(e.Stdout, v, "  ") }

// line prints one line of a stream of JSON.
func (e *Env) line(v any) error { return encode(e.Stdout, v, "") }

func encode(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// print writes one line of text.
func (e *Env) print(format string, args ...any) error {
	if _, err := fmt.Fprintln(e.Stdout, fmt.Sprintf(format, args...)); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// table aligns columns. A state in a cell gets its colour.
type table struct{ rows [][]string }

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = clean(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// finish ends a list whose first row is its head: with --json it was printed row
// by row, and without any row a note says so.
func (t *table) finish(e *Env, g *Globals, none string) error {
	switch {
	case g.JSON:
		return nil
	case len(t.rows) == 1:
		e.note("%s", none)
		return nil
	}
	return t.write(e)
}

// write prints the rows. Cells of a column start at the same place; nothing
// follows the last cell.
func (t *table) write(e *Env) error {
	widths := map[int]int{}
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	for _, row := range t.rows {
		last := len(row) - 1
		for last > 0 && row[last] == "" {
			last--
		}
		for i, cell := range row[:last+1] {
			out.WriteString(e.paint(cell))
			if i < last {
				out.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		out.WriteByte('\n')
	}
	if _, err := io.WriteString(e.Stdout, out.String()); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// colour of each state, as a terminal's code.
var colour = map[task.State]string{
	task.Processing:   "36",
	task.Processed:    "32",
	task.Error:        "31",
	task.Compensating: "33",
	task.Compensated:  "33",
	task.Cancelled:    "33",
}

// paint colours a text that is a state.
func (e *Env) paint(s string) string {
	code, found := colour[task.State(s)]
	if !found || !e.colours() {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// moment is a time for a person; empty for none.
func moment(t api.Time) string {
	if t == 0 {
		return ""
	}
	return t.Time().Format("2006-01-02 15:04:05.000Z")
}

// number is a count for a person; empty for 0.
func number[N int | int64](n N) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// took is the time between two moments; empty when one is missing.
func took(from, to api.Time) string {
	if from == 0 || to < from {
		return ""
	}
	return (time.Duration(to-from) * time.Millisecond).String()
}
