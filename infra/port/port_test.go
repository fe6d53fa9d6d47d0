package port_test

import (
	"net"
	"testing"

	"triad/infra/port"
)

func TestAFreePortCanBeListenedOn(t *testing.T) {
	t.Parallel()
	for range 20 {
		n, err := port.Free()
		if err != nil {
			t.Fatal(err)
		}
		if n < 20_000 || n > 31_999 {
			t.Errorf("port %d may be handed out to anybody", n)
		}
		l, err := net.Listen("tcp", port.Address(n))
		if err != nil {
			t.Errorf("port %d is not free: %v", n, err)
			continue
		}
		defer l.Close()
	}
}
