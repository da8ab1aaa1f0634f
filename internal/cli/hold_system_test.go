//go:build system

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// hold makes calls of a program wait until the test releases them. The test can then inspect or end a running load
// without a race, on a machine of any speed.
type hold struct {
	t              *testing.T
	program, first string
}

// Shell patterns of arguments: fio's loads except layout and fill, and clients of iperf3 and sockperf.
const (
	loadsOfFio     = "*--name=layout*|*--name=fill*) ;; *--name=*"
	networkClients = "*--client*|*ping-pong*|*under-load*"
)

// holdCalls writes a stand-in for a program into a folder, which the caller puts first on the PATH. From the nth call
// on, calls whose arguments match a shell pattern wait until to or release lets them run the real program.
func holdCalls(t *testing.T, folder, program, pattern string, n int) hold {
	t.Helper()
	real, err := exec.LookPath(program)
	if err != nil {
		t.Skip(program + " is not installed")
	}
	h := hold{t, filepath.Join(folder, program), filepath.Join(t.TempDir(), "first")}
	h.to(n)
	calls := filepath.Join(filepath.Dir(h.first), "calls")
	if err := os.WriteFile(calls, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	writeProgram(t, h.program, fmt.Sprintf(`#!/bin/sh
case "$*" in
%[1]s)
	echo >>%[2]s
	n=$(wc -l <%[2]s)
	while [ "$n" -ge "$(cat %[3]s)" ]; do sleep 0.05; done
	;;
esac
exec %[4]s "$@"
`, pattern, calls, h.first, real))
	return h
}

// calls returns the number of calls so far.
func (h hold) calls() int {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(h.first), "calls"))
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// to releases all calls before the nth.
func (h hold) to(n int) {
	h.t.Helper()
	building := h.first + ".new" // renamed, so that no call reads a partial file
	if err := os.WriteFile(building, []byte(strconv.Itoa(n)), 0o644); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Rename(building, h.first); err != nil {
		h.t.Fatal(err)
	}
}

// release releases all calls.
func (h hold) release() { h.to(1 << 30) }

// holdLoadsFrom makes fio's loads on this machine wait from the nth on.
func (v *fixture) holdLoadsFrom(n int) hold {
	v.t.Helper()
	folder := v.t.TempDir()
	v.env = append(v.env, "PATH="+folder+":"+os.Getenv("PATH"))
	return holdCalls(v.t, folder, "fio", loadsOfFio, n)
}

// await waits for the nth call.
func (h hold) await(n int) {
	h.t.Helper()
	await(h.t, fmt.Sprintf("call %d of %s", n, h.program), func() bool { return h.calls() >= n })
}

// waiting returns the number of waiting calls of a run's jobs.
func (h hold) waiting(run string) (n int) {
	h.t.Helper()
	for _, link := range processesOf(h.t, run) {
		line, err := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
		if err == nil && strings.HasPrefix(string(line), "/bin/sh\x00"+h.program+"\x00") {
			n++
		}
	}
	return n
}
