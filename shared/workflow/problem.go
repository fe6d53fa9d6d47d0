package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MaxProblems is how many problems are told of one definition; one more says
// how many are left.
const MaxProblems = 20

// Problem is one thing that is wrong with a definition.
type Problem struct {
	// File is the name given in Source.
	File string
	// Line and Column say where, from 1, in characters. Line 0 means the file
	// as a whole.
	Line, Column int
	// What is wrong; Want says what to write instead, and may be empty.
	What, Want string
}

// String is the problem on one line: file:line:column: what: want.
func (p Problem) String() string {
	text := p.File + ": "
	if p.Line > 0 {
		text = fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	}
	text += p.What
	if p.Want != "" {
		text += ": " + p.Want
	}
	return text
}

// Problems is the error of a definition that was refused: all that is wrong
// with it, by line and column.
type Problems []Problem

// Error has one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// position is a place in the text, from 1, in characters.
type position struct{ line, column int }

// report collects the problems of one definition.
type report struct {
	file  string
	found Problems
}

// add notes a problem. The want may be empty.
func (r *report) add(at position, want, what string, args ...any) {
	r.found = append(r.found, Problem{
		File: r.file, Line: at.line, Column: at.column,
		What: fmt.Sprintf(what, args...), Want: want,
	})
}

// err returns the problems in reading order, at most MaxProblems and a remark,
// or nil.
func (r *report) err() error {
	if len(r.found) == 0 {
		return nil
	}
	slices.SortStableFunc(r.found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if more := len(r.found) - MaxProblems; more > 0 {
		r.found = append(r.found[:MaxProblems:MaxProblems], Problem{
			File: r.file, What: fmt.Sprintf("and %d more problems", more), Want: "correct these first",
		})
	}
	return r.found
}

// suggest says which of the known names was meant, and lists them.
func suggest(name, kind string, known []string) string {
	if len(known) == 0 {
		return "there are no " + kind
	}
	list := "known " + kind + ": " + enumerate(known)
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q? %s", near, list)
	}
	return list
}

// enumerate lists names, not too many.
func enumerate(names []string) string {
	const most = 20
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// nearest returns the known name that is most like name, or "" when none is
// alike. Of equals the first wins.
func nearest(name string, known []string) string {
	if len(name) > 2*maxName {
		return ""
	}
	best, least := "", 1+max(1, len(name)/3)
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the single-character edits from a to b, where exchanging two
// neighbours counts once.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// shorten cuts a text for a message, at a character boundary.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
