package httpagent

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// File is the file of a workflows directory that describes the agents.
const File = "agents.yaml"

// Load reads the agents of a workflows directory; see ParseAgents.
func Load(files fs.FS, lookup func(string) (string, bool)) (map[string]Config, error) {
	text, err := fs.ReadFile(files, File)
	if err != nil {
		return nil, fmt.Errorf("reading the agents: %w: a workflows directory needs the file %s", err, File)
	}
	return ParseAgents(File, text, lookup)
}

// ParseAgents reads an agents file: the services by agent name. lookup gives
// the settings that ${NAME} stands for; nil knows none.
//
// It reads strictly, and reports all faults in one error (errors.Join), each as
// file:line:column, the field, and what would be right. A Config that it
// returns is one that New accepts.
func ParseAgents(file string, text []byte, lookup func(string) (string, bool)) (map[string]Config, error) {
	if lookup == nil {
		lookup = func(string) (string, bool) { return "", false }
	}
	r := &reader{file: file, lookup: lookup}
	agents := make(map[string]Config)
	root, ok := r.root(text)
	if !ok {
		return nil, errors.Join(r.faults...)
	}
	r.object(root, fields{"agents": func(v value) {
		r.each(v, func(name string, v value) {
			if err := checkName(name); err != nil {
				r.fail(v, "%v", err)
			}
			agents[name] = r.agent(name, v)
		})
	}})
	if len(agents) == 0 && len(r.faults) == 0 {
		r.fail(root, "names no agent: write agents: and one below it")
	}
	if len(r.faults) > 0 {
		return nil, errors.Join(r.faults...)
	}
	return agents, nil
}

// agent reads one agent. The Config has a meaning only without faults.
func (r *reader) agent(name string, v value) Config {
	c, before := Config{Name: name}, len(r.faults)
	described := false
	r.object(v, fields{
		"http": func(v value) { described = true; r.http(v, &c) },
		"retry": func(v value) {
			r.object(v, fields{
				"attempts": scalarInto(r, &c.Retry.Attempts, numberFrom(1, 100)),
				"first":    scalarInto(r, &c.Retry.First, durationFrom(time.Millisecond)),
				"factor":   scalarInto(r, &c.Retry.Factor, parseFactor),
				"max":      scalarInto(r, &c.Retry.Max, durationFrom(time.Millisecond)),
			})
		},
	})
	if len(r.faults) > before {
		return c
	}
	if !described {
		r.fail(v, "has no http: describe the service under http:")
	} else if err := c.withDefaults().check(); err != nil {
		r.fail(v, "%v", err)
	}
	return c
}

func (r *reader) http(v value, c *Config) {
	before := len(r.faults)
	r.object(v, fields{
		"url":           scalarInto(r, &c.URL, parseURL),
		"method":        scalarInto(r, &c.Method, parseMethod),
		"headers":       func(v value) { r.headers(v, c) },
		"body":          scalarInto(r, &c.Body, bodyOf(BodyInput, BodyNone)),
		"undo":          func(v value) { r.undo(v, &c.Undo) },
		"success":       r.codes(&c.Success),
		"permanent":     r.codes(&c.Permanent),
		"transient":     r.codes(&c.Transient),
		"timeout":       scalarInto(r, &c.Timeout, durationFrom(time.Millisecond)),
		"responseLimit": scalarInto(r, &c.ResponseLimit, parseSize),
		"concurrency":   scalarInto(r, &c.Concurrency, numberFrom(1, 10_000)),
		"breaker": func(v value) {
			r.object(v, fields{
				"failures": scalarInto(r, &c.Breaker.Failures, numberFrom(1, 10_000)),
				"open":     scalarInto(r, &c.Breaker.Open, durationFrom(time.Millisecond)),
			})
		},
	})
	if c.URL == "" && len(r.faults) == before {
		r.fail(v, "has no url: write url: http://host:port/path/{task}")
	}
}

func (r *reader) undo(v value, u *Undo) {
	r.object(v, fields{
		"method":  scalarInto(r, &u.Method, parseMethod),
		"url":     scalarInto(r, &u.URL, parseURL),
		"body":    scalarInto(r, &u.Body, bodyOf(BodyInput, BodyOutput, BodyNone)),
		"success": r.codes(&u.Success),
	})
}

func (r *reader) headers(v value, c *Config) {
	c.Headers = make(map[string]string)
	r.each(v, func(name string, v value) {
		text, ok := r.scalar(v)
		if !ok {
			return
		}
		if err := checkHeader(name, text); err != nil {
			r.fail(v, "%v", err)
			return
		}
		c.Headers[name] = text
	})
}

// codes returns what reads a list of codes and ranges.
func (r *reader) codes(dst *[]Codes) func(value) {
	return func(v value) {
		r.list(v, func(v value) {
			var c Codes
			scalarInto(r, &c, ParseCodes)(v)
			*dst = append(*dst, c)
		})
	}
}

func parseURL(s string) (string, error) {
	_, err := parseTemplate(s)
	return s, err
}

func parseMethod(s string) (string, error) { return s, checkMethod(s) }

func bodyOf(allowed ...Body) func(string) (Body, error) {
	return func(s string) (Body, error) { return Body(s), checkBody(Body(s), allowed...) }
}

func durationFrom(least time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration: write 500ms, 2s or 1m", s)
		}
		return d, checkDuration(d, least)
	}
}

func numberFrom(least, most int64) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number: write one from %d to %d", s, least, most)
		}
		return int(n), checkNumber(n, least, most)
	}
}

func parseFactor(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 1 && f <= 100) {
		return 0, fmt.Errorf("%q is not a factor: write a number from 1 to 100", s)
	}
	return f, nil
}

// parseSize reads 512B, 64KB or 1MB; a KB has 1,024 bytes.
func parseSize(s string) (int64, error) {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"KB", 1 << 10}, {"MB", 1 << 20}, {"B", 1}} {
		digits, ok := strings.CutSuffix(s, unit.name)
		if !ok {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 32); err == nil {
			return n * unit.bytes, checkNumber(n*unit.bytes, 1, MaxResponse)
		}
	}
	return 0, fmt.Errorf("%q is not a size: write 512B, 64KB or 1MB", s)
}
