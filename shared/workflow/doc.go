// Package workflow turns definitions, written in YAML, into the compiled
// task.Workflow that the core decides with.
//
// Business logic is data: which steps there are, which agent does each, in
// which order, by when, how often again, and how it is undone. Parse reads one
// definition and either returns it compiled or returns every problem it has,
// each with file, line and column, so that an author corrects a file once.
//
// # Stored definitions
//
// A task is pinned to name@version for its whole life, so a definition is stored
// beside the tasks and is immutable. Bundle gives the form to store: the source
// and the JSON Schema it names, in one text; ParseBundle reads it back and needs
// no file. The same source gives the same bundle, byte for byte. A comment is
// part of the source; line ends are not.
//
// # Expressions
//
// `when` and the ${...} of `input` are expr-lang expressions. They see `order`
// and, for each step that has ended before, steps.NAME.output and
// steps.NAME.state (steps["some-name"] where the name has a dash). They are
// deterministic and bounded: no clock, no randomness, no I/O, no functions but
// those of an explicit list, at most MaxExpression characters, a budget of
// operations and memory, and a result of at most MaxInput bytes.
//
// Numbers come out as they came in: ${order.total} repeats the digits of the
// order. Only arithmetic and comparisons convert, to a 64-bit integer where the
// number is written as one and fits, else to a 64-bit float. A skipped step's
// output is nil. To go on where a value may be missing, write ?. and ??.
//
// # Promises
//
// Parse is a pure function of what it is given. It never panics, whatever the
// text. A Definition, its Workflow, When and Input closures included, is
// read-only and safe for concurrent use.
package workflow
