package api

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// guard keeps web pages from using the browser of somebody on this machine as a
// bridge to the door, which has no login.
type guard struct {
	hosts       map[string]bool
	crossOrigin *http.CrossOriginProtection
}

func newGuard(hosts []string) guard {
	g := guard{hosts: map[string]bool{}, crossOrigin: http.NewCrossOriginProtection()}
	for _, host := range hosts {
		g.hosts[strings.ToLower(host)] = true
	}
	return g
}

// check refuses a name that is not ours, which a page could have pointed to this
// machine by DNS, and requests with an effect that come from another origin.
// Requests without an effect may come: without CORS no page can read the answer.
func (g guard) check(r *http.Request) error {
	if !g.ours(r.Host) {
		return failf(http.StatusForbidden, CodeForbidden, "",
			"the host %q is not served: use localhost, or have the name added to the server's hosts", shorten(r.Host))
	}
	if err := g.crossOrigin.Check(r); err != nil {
		return failf(http.StatusForbidden, CodeForbidden, "", "requests of pages from another origin are refused")
	}
	return nil
}

// ours reports whether host, with or without a port, is a name of this door.
func (g guard) ours(host string) bool {
	name := host
	if h, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") || g.hosts[strings.ToLower(name)] {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}
