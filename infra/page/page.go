// Package page writes what programs know into documents: a part of a page that
// stands between two lines. The rest of the page is a person's.
package page

import (
	"fmt"
	"os"
	"strings"
)

// Part is a part of a page that a program writes.
type Part struct {
	// Begin and End are the lines around it, comments of Markdown.
	Begin, End string
}

// Of returns the part for a name, as in "The gate's table", and the command that
// writes it.
func Of(name, command string) Part {
	return Part{
		Begin: fmt.Sprintf("<!-- %s begins: `%s` writes it. -->\n", name, command),
		End:   fmt.Sprintf("<!-- %s ends. -->\n", name),
	}
}

// In returns what stands between the lines of a document, without the empty lines
// around it.
func (p Part) In(document string) (text string, found bool) {
	_, rest, begun := strings.Cut(document, p.Begin)
	text, _, ended := strings.Cut(rest, p.End)
	if !begun || !ended {
		return "", false
	}
	return strings.Trim(text, "\n") + "\n", true
}

// Write puts text between the lines in a file. The file is not touched when it
// lacks them.
func (p Part) Write(file, text string) error {
	document, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("writing a part of a page: %w", err)
	}
	head, rest, begun := strings.Cut(string(document), p.Begin)
	_, tail, ended := strings.Cut(rest, p.End)
	if !begun || !ended {
		return fmt.Errorf("writing a part of a page: %s lacks the lines between which it stands:\n%s%s", file, p.Begin, p.End)
	}
	next := head + p.Begin + "\n" + strings.Trim(text, "\n") + "\n\n" + p.End + tail
	if err := os.WriteFile(file, []byte(next), 0o644); err != nil {
		return fmt.Errorf("writing a part of a page: %w", err)
	}
	return nil
}
