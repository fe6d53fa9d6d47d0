package httpagent

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"triad/shared/task"
)

// template is a URL with places for values of a request.
type template []segment

// segment is literal text or, when variable is set, a place.
type segment struct {
	literal  string
	variable string
	inQuery  bool
}

// valueOf is what a variable stands for; false when there is no such variable.
func valueOf(variable string, r task.Request) (string, bool) {
	switch variable {
	case "task":
		return string(r.Task), true
	case "step":
		return r.Step, true
	case "key":
		return r.Key, true
	case "tenant":
		return r.Tenant, true
	}
	return "", false
}

// parseTemplate compiles a URL. Places must come behind the host, so that no
// request can choose where a call goes.
func parseTemplate(text string) (template, error) {
	t, err := split(text)
	if err != nil {
		return nil, err
	}
	var plain strings.Builder
	for _, s := range t {
		plain.WriteString(s.literal)
		if s.variable != "" {
			plain.WriteString("x")
		}
	}
	u, err := url.Parse(plain.String())
	switch {
	case err != nil:
		return nil, fmt.Errorf("url %q can't be read: write http://host:port/path", text)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("url %q is not absolute: write https://host/path, or http://host:port/path", text)
	case u.User != nil:
		return nil, errors.New("url has a user or password: give them as the header Authorization")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return nil, fmt.Errorf("url %q has a fragment: leave out # and what follows", text)
	case t[0].variable != "" && !strings.HasPrefix(t[0].literal, u.Scheme+"://"+u.Host+"/"):
		return nil, fmt.Errorf("url %q has a variable before its path: variables stand behind the host and a /", text)
	}
	return t, nil
}

// split cuts a template at its {variables}.
func split(text string) (template, error) {
	var t template
	inQuery := false
	for rest := text; rest != ""; {
		literal, after, found := strings.Cut(rest, "{")
		if strings.Contains(literal, "}") {
			return nil, fmt.Errorf("url %q has a } without a {: write {task}", text)
		}
		inQuery = inQuery || strings.Contains(literal, "?")
		s := segment{literal: literal, inQuery: inQuery}
		if found {
			var closed bool
			s.variable, after, closed = strings.Cut(after, "}")
			if _, known := valueOf(s.variable, task.Request{}); !closed || !known {
				return nil, fmt.Errorf("url %q has an unknown variable {%s}: use {task}, {step}, {key} or {tenant}", text, s.variable)
			}
		}
		t = append(t, s)
		rest = after
	}
	return t, nil
}

// fill makes the URL of a request. A variable without a value is an error: the
// URL would name another resource.
func (t template) fill(r task.Request) (string, error) {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(s.literal)
		if s.variable == "" {
			continue
		}
		value, _ := valueOf(s.variable, r)
		if value == "" {
			return "", fmt.Errorf("request has no %s, but the agent's url needs it", s.variable)
		}
		if s.inQuery {
			b.WriteString(url.QueryEscape(value))
		} else {
			b.WriteString(escapeSegment(value))
		}
	}
	return b.String(), nil
}

// escapeSegment escapes a path segment, also one that would climb.
func escapeSegment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}
