package score

import (
	"fmt"
	"strings"
)

// others are what each kind of mutant puts in place of what.
var others = map[string]map[string]string{
	"ARITHMETIC_BASE":         {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*"},
	"CONDITIONALS_BOUNDARY":   {"<=": "<", ">=": ">", "<": "<=", ">": ">="},
	"CONDITIONALS_NEGATION":   {"==": "!=", "!=": "==", "<=": ">", ">=": "<", "<": ">=", ">": "<="},
	"INCREMENT_DECREMENT":     {"++": "--", "--": "++"},
	"INVERT_ASSIGNMENTS":      {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "%=": "*="},
	"INVERT_BITWISE":          {"<<": ">>", ">>": "<<", "&": "|", "|": "&", "&^": "&", "^": "&"},
	"INVERT_BWASSIGN":         {"|=": "&=", "&=": "|=", "^=": "&=", "&^=": "&=", "<<=": ">>=", ">>=": "<<="},
	"INVERT_LOGICAL":          {"&&": "||", "||": "&&"},
	"INVERT_LOOPCTRL":         {"break": "continue", "continue": "break"},
	"INVERT_NEGATIVES":        {"-": "+"},
	"REMOVE_SELF_ASSIGNMENTS": {"+=": "=", "-=": "=", "*=": "=", "/=": "=", "%=": "=", "|=": "=", "&=": "=", "^=": "=", "<<=": "=", ">>=": "=", "&^=": "="},
}

// apply is source with the mutant in it, and change says what stands for what.
func (m Mutant) apply(source string) (mutated, change string, err error) {
	lines := strings.SplitAfter(source, "\n")
	if m.Line < 1 || m.Line > len(lines) || m.Column < 1 || m.Column > len(lines[m.Line-1]) {
		return "", "", fmt.Errorf("%s: there is no such place: list the mutants of this version", m)
	}
	before, rest := lines[m.Line-1][:m.Column-1], lines[m.Line-1][m.Column-1:]
	found := ""
	for operator := range others[m.Kind] {
		if strings.HasPrefix(rest, operator) && len(operator) > len(found) {
			found = operator
		}
	}
	if found == "" {
		return "", "", fmt.Errorf("%s: no operator of this kind stands there: list the mutants of this version, or tell package score of the operator", m)
	}
	instead := others[m.Kind][found]
	lines[m.Line-1] = before + instead + rest[len(found):]
	return strings.Join(lines, ""), instead + " for " + found, nil
}
