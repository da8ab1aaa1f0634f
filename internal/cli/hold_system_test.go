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

// hold stands in the way of the calls of a program. Whoever looks at what goes on, or ends it, has all the time that it
// takes, however slow the machine is and however long it stands still.
type hold struct {
	t              *testing.T
	program, first string
}

// Patterns of arguments: fio's loads, but for those that lay out or fill, and clients of iperf3 and sockperf.
const (
	loadsOfFio     = "*--name=layout*|*--name=fill*) ;; *--name=*"
	networkClients = "*--client*|*ping-pong*|*under-load*"
)

// holdCalls has the calls of a program wait that have arguments of a pattern of the shell, from the nth on. The folder
// comes first on the PATH of who calls it. More calls get through when to is called.
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

// calls is how many calls there were.
func (h hold) calls() int {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(h.first), "calls"))
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// to has only calls from the nth on wait.
func (h hold) to(n int) {
	h.t.Helper()
	building := h.first + ".new" // nobody reads half of it
	if err := os.WriteFile(building, []byte(strconv.Itoa(n)), 0o644); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Rename(building, h.first); err != nil {
		h.t.Fatal(err)
	}
}

// release has no call wait any more.
func (h hold) release() { h.to(1 << 30) }

// holdLoadsFrom has fio's loads that the fixture starts on this machine wait, from the nth on.
func (v *fixture) holdLoadsFrom(n int) hold {
	v.t.Helper()
	folder := v.t.TempDir()
	v.env = append(v.env, "PATH="+folder+":"+os.Getenv("PATH"))
	return holdCalls(v.t, folder, "fio", loadsOfFio, n)
}

// await waits until the nth call has come.
func (h hold) await(n int) {
	h.t.Helper()
	await(h.t, fmt.Sprintf("call %d of %s", n, h.program), func() bool { return h.calls() >= n })
}

// waiting reports how many calls of a run's jobs wait.
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
