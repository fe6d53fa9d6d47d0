// Package port finds ports for programs that have to be given one.
//
// Where a program can choose its own and say so, let it: this is for the others, and
// for addresses that outlast a program.
package port

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports from first to last are below those that systems hand out to whoever asks
// for any (Linux from 32768 on, others from 49152): nobody gets one of them by chance
// between the search and its use.
const (
	first = 20_000
	last  = 31_999
	tries = 100
)

// Free returns a TCP port of 127.0.0.1 that nobody listens on. Another search may
// find the same one before it is used, which takes two that draw the same of 12,000:
// where that matters, try again.
func Free() (int, error) {
	var err error
	for range tries {
		n := first + rand.IntN(last-first+1)
		var l net.Listener
		if l, err = net.Listen("tcp", Address(n)); err == nil {
			return n, l.Close()
		}
	}
	return 0, fmt.Errorf("finding a free port from %d to %d: %w", first, last, err)
}

// Address is 127.0.0.1 with a port.
func Address(n int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(n)) }
