// Package emf writes what a function has to tell CloudWatch to its standard
// output: metrics in the Embedded Metric Format, and log lines in Lambda's own
// JSON format.
//
// It exists so that functions need no agent, no call and no permission to be
// counted: CloudWatch Logs makes metrics of the lines by itself. Like package
// telemetry, which does the same for Prometheus, it listens and never decides,
// and counts the same things with the same meaning.
//
// # Promises
//
// A flush writes one line, in one call of the writer, and nothing when nothing
// was counted. (More than 100 ends of tasks need a second line: the format
// allows no more values in one.) A count that could not be written stays for the
// next flush. The dimensions are Stack and Function, once: each further set, and
// each value of a dimension, would be a metric that is paid for. No id and no
// payload is in a line.
//
// # Not promised
//
// That a metric is there while its count is zero: alarms have to take missing
// data for zero, but for Sweeps, where it is the alarm.
//
// A line of metrics has no log level, which Lambda takes for INFO. A function
// whose ApplicationLogLevel is WARN or higher writes no metrics at all.
package emf
