package api_test

import (
	"testing"

	"triad/shared/api"
	"triad/shared/api/apitest"
)

func TestOnlyOurHostsAreServed(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, func(c *api.Config) { c.Hosts = []string{"Triad.internal"} })
	for host, want := range map[string]int{
		"localhost":               200,
		"LOCALHOST:7070":          200,
		"127.0.0.1:7070":          200,
		"127.9.9.9":               200,
		"[::1]:7070":              200,
		"[::1]":                   200,
		"triad.internal:80":       200,
		"":                        403,
		"evil.example":            403,
		"evil.example:7070":       403,
		"localhost.evil.example":  403,
		"127.0.0.1.evil.example":  403,
		"192.168.1.10:7070":       403,
		"0.0.0.0:7070":            403,
		"localhost:7070@evil":     403,
		"triad.internal.evil.com": 403,
	} {
		r := request("GET", "/v1/tasks", "")
		r.Host = host
		if w := serve(d, r); w.Code != want {
			t.Errorf("host %q: got %d, want %d", host, w.Code, want)
		}
	}
}

func TestOtherOriginsHaveNoEffect(t *testing.T) {
	t.Parallel()
	d := apitest.New(t, nil)
	do(t, d, 202, "POST", "/v1/tasks", order1)
	for _, c := range []struct {
		name    string
		method  string
		headers []string
		want    int
	}{
		{"a program", "POST", nil, 200},
		{"our own page", "POST", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://localhost:7070"}, 200},
		{"our own page in an old browser", "POST", []string{"Origin", "http://localhost:7070"}, 200},
		{"the address line", "POST", []string{"Sec-Fetch-Site", "none"}, 200},
		{"another site", "POST", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"another port", "POST", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"another site in an old browser", "POST", []string{"Origin", "https://evil.example"}, 403},
		{"a sandbox in an old browser", "POST", []string{"Origin", "null"}, 403},
		{"a link from another site", "GET", []string{"Sec-Fetch-Site", "cross-site"}, 200},
		{"a preflight", "OPTIONS", []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "POST"}, 405},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			body := ""
			if c.method == "POST" {
				body = order1
			}
			w := do(t, d, c.want, c.method, "/v1/tasks", body, c.headers...)
			if got := w.Header().Get("Access-Control-Allow-Origin"); got != "" {
				t.Errorf("CORS is allowed to %q", got)
			}
		})
	}
}
