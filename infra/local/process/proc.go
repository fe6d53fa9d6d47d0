package process

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"triad/infra/port"
)

// status is what the kernel tells of a process.
type status struct {
	pid, parent, group int
	state              byte
	started            uint64
}

// read reads /proc/PID/stat. The name of the program, in parentheses, may hold
// anything: the fields are counted from behind it.
func read(pid int) (status, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return status{}, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return status{}, fmt.Errorf("reading the status of process %d: it has %d fields", pid, len(fields))
	}
	s := status{pid: pid, state: fields[0][0]}
	var bad [3]error
	s.parent, bad[0] = strconv.Atoi(fields[1])
	s.group, bad[1] = strconv.Atoi(fields[2])
	s.started, bad[2] = strconv.ParseUint(fields[19], 10, 64)
	return s, errors.Join(bad[:]...)
}

// table is the status of every process. One that ends meanwhile is left out.
func table() (all []status, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes (this needs Linux): %w", err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if s, err := read(pid); err == nil {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

// Serves reports whether the process, or one that it started, listens on the
// TCP port: that something answers there proves nothing, as another program may
// have taken the port.
func (r Record) Serves(port int) (bool, error) {
	sockets, err := listening(port)
	if err != nil || !r.Alive() {
		return false, err
	}
	family, err := r.family()
	if err != nil {
		return false, err
	}
	for _, p := range family {
		open, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(p.PID), "fd", "*"))
		for _, file := range open {
			if to, err := os.Readlink(file); err == nil && sockets[to] {
				return true, nil
			}
		}
	}
	return false, nil
}

// listening are the sockets, as /proc/PID/fd names them, that listen on a port.
func listening(port int) (map[string]bool, error) {
	const state, listen, address, inode = 3, "0A", 1, 9
	found := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("looking for who listens on port %d: %w", port, err)
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) > inode && f[state] == listen && strings.HasSuffix(f[address], fmt.Sprintf(":%04X", port)) {
				found["socket:["+f[inode]+"]"] = true
			}
		}
	}
	return found, nil
}

// Environment is what a variable is in the environment of each process that the
// process started, by process id. Those without the variable are left out.
func (r Record) Environment(name string) (map[int]string, error) {
	family, err := r.family()
	if err != nil {
		return nil, err
	}
	found := map[int]string{}
	for _, p := range family {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "environ"))
		if err != nil {
			continue // it has just ended
		}
		for _, v := range strings.Split(string(text), "\x00") {
			if value, is := strings.CutPrefix(v, name+"="); is {
				found[p.PID] = value
			}
		}
	}
	return found, nil
}

// FreePort returns wanted when that is a port that nobody listens on on this machine,
// and another one otherwise. It may be taken before it is used: whoever uses it must be able
// to try again.
func FreePort(wanted int) (int, error) {
	if wanted > 0 {
		if l, err := net.Listen("tcp", port.Address(wanted)); err == nil {
			return wanted, l.Close()
		}
	}
	return port.Free()
}
