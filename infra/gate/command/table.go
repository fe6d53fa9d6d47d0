package command

import (
	"fmt"
	"strings"

	"triad/infra/gate/trial"
	"triad/infra/page"
)

// part is where the table stands in the document.
var part = page.Of("The gate's table", "make gate UPDATE=1")

// Table is the verdicts in Markdown.
func Table(verdicts []trial.Verdict) string {
	var b strings.Builder
	killed, simulated, spent, leftOut := 0, 0, 0, 0
	for _, v := range verdicts {
		spent += v.Seeds
		if v.Killed {
			killed++
		}
		if v.LeftOut != "" {
			leftOut++
		}
		if v.Package == "" {
			simulated++
		}
	}
	fmt.Fprintf(&b, "%d of %d mutants are killed: %d are left to the simulation, with up to %d seeds each, of which they took %d in all; %d to tests.\n",
		killed, len(verdicts), simulated, trial.Budget, spent, len(verdicts)-simulated)
	if leftOut > 0 {
		fmt.Fprintf(&b, "%d were LEFT OUT.\n", leftOut)
	}
	b.WriteString("\n| mutant | kind | killed by | seeds |\n|---|---|---|---|\n")
	for _, v := range verdicts {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", v.Name, v.Kind, by(v), seeds(v))
	}
	return b.String()
}

// by is what killed a mutant.
func by(v trial.Verdict) string {
	switch {
	case v.LeftOut != "":
		return "LEFT OUT: " + v.LeftOut
	case !v.Killed:
		return "nothing: it SURVIVES"
	case v.Package == "":
		return strings.Join(v.By, ", ")
	}
	return "`" + strings.Join(v.By, "`, `") + "` in " + v.Package
}

func seeds(v trial.Verdict) string {
	if v.Seeds == 0 {
		return ""
	}
	return fmt.Sprint(v.Seeds)
}

// Update writes the table into a document, between its two lines.
func Update(file string, verdicts []trial.Verdict) error { return part.Write(file, Table(verdicts)) }

// Listed are the names of the mutants in the table of a document, in its order.
func Listed(document string) (names []string) {
	table, _ := part.In(document)
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		name, is := strings.CutPrefix(cells[0], "| ")
		if is && len(cells) == 4 && name != "mutant" {
			names = append(names, name)
		}
	}
	return names
}
