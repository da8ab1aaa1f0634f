//go:build system && guests

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/sshtest"
)

// rdmaGuest describes a guest with soft RoCE on the first of two networks, and the programs of perftest with the part
// of rdma-core that speaks to it.
func rdmaGuest(t *testing.T, number string) string {
	t.Helper()
	file := guestFile(t)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	providers, err := filepath.Glob("/usr/lib/*/libibverbs/librxe-rdmav*.so")
	if err != nil || len(providers) != 1 {
		t.Skip("ibverbs-providers is not installed")
	}
	head, _, _ := strings.Cut(string(before), "memory:")
	text := head + "cpus: 1\nmemory: 640m\naccelerator: emulation\nmodules: [ib_uverbs, rdma_ucm]\nprograms: " +
		"[ib_write_bw, ib_read_bw, ib_send_lat, ib_read_lat, strace]\nfiles: [/etc/libibverbs.d/rxe.driver, " +
		providers[0] + "]\nnetworks:\n" +
		fmt.Sprintf("  - {link: roce, address: 10.0.11.%s/24, mtu: 4200, rdma: true}\n  - {link: plain, address: "+
			"10.0.12.%s/24}\n", number, number)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// What perftest measures between two guests with soft RoCE. The rates are those of emulation; what they are of is
// asserted.
func TestNetMeasuresRDMA(t *testing.T) {
	guestSearches(t)
	t.Parallel()
	sshtest.Tool(t, "ib_write_bw", "/usr/bin/ib_write_bw")
	sshtest.Tool(t, "strace", "/usr/bin/strace")
	v := newFixture(t)
	server, _, sshConfig := guestsBySSH(t, "rdma-server", rdmaGuest(t, "1"), "rdma-client", rdmaGuest(t, "2"))
	v.env = []string{config.Variable(config.SSHConfig) + "=" + sshConfig}
	suite := func(jobs string) {
		if err := os.WriteFile(v.suite, []byte("version: 1\nname: roce\nrepetitions: 1\njobs:\n"+jobs), 0o644); err !=
			nil {
			t.Fatal(err)
		}
	}
	args := func(address string, more ...string) []string {
		return append([]string{"net", v.suite, "--on", "client=ssh://rdma-client", "--on", "server=ssh://rdma-server",
			"--address", address}, more...)
	}
	suite(`  - {name: write, rdma: {test: ib_write_bw, duration: 8s, size: 1024}}
  - {name: read, rdma: {test: ib_read_bw, iters: 50, size: 1024}}
  - {name: message, rdma: {test: ib_send_lat, iters: 50}}
  - {name: fetch, rdma: {test: ib_read_lat, iters: 50}}
`)
	var stderr bytes.Buffer
	cmd := v.command(args("10.0.11.1", "--json")...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		raw, _ := v.command("show", "--raw", "last").CombinedOutput()
		t.Fatalf("%v\n%s%s", err, &stderr, append(raw, out[max(0, bytes.Index(out, []byte("no-result"))-200):]...))
	}
	var d netDocument
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Cells) != 4 {
		t.Fatalf("%d cells\n%s", len(d.Cells), &stderr)
	}
	for i, direction := range []string{lab.Send, lab.Receive} {
		m := d.Cells[i].Metrics
		bits, rate := m[lab.Bitrate(direction)].Center, m[direction+".rate"].Center
		printed := d.Cells[i].Job + " by soft RoCE between two emulated guests"
		figure.Record(t, figure.Figure{Name: figure.Name("rdma", d.Cells[i].Job, "bitrate"), Unit: "bit/s",
			Center: bits, Text: printed})
		figure.Record(t, figure.Figure{Name: figure.Name("rdma", d.Cells[i].Job, "rate"), Unit: "1/s", Center: rate,
			Text: printed + ": operations a second"})
		// Of the average two digits after the point are printed, in MiB/s.
		if slack := 0.005*8*(1<<20) + 1e-6*bits; rate <= 0 || math.Abs(bits-rate*1024*8) > slack+0.5*1024*8 {
			t.Errorf("%s: %g bit/s and %g operations of 1024 bytes: %+v", d.Cells[i].Job, bits, rate,
				d.Cells[i].Warnings)
		}
	}
	for _, c := range d.Cells[2:] {
		of := func(part string) float64 { return c.Metrics[lab.Latency(lab.Request, part)].Center }
		rate := c.Metrics[lab.RequestRate].Center
		printed := c.Job + " by soft RoCE between two emulated guests"
		figure.Record(t, figure.Figure{Name: figure.Name("rdma", c.Job, "p50"), Unit: "s", Center: of("p50"),
			Text: printed + ": the median answer"})
		figure.Record(t, figure.Figure{Name: figure.Name("rdma", c.Job, "rate"), Unit: "1/s",
			Center: rate, Text: printed +
				": answers a second"})
		if of("min") <= 0 || of("min") > of("p50") || of("p50") > of("max") || of("mean") > of("max") ||
			math.Abs(rate*of("mean")-1) > 0.001 {
			t.Errorf("%s: %+v, %+v", c.Job, c.Metrics, c.Warnings)
		}
	}
	// The connection was made for the address under test, by the connection manager.
	raw, err := v.command("show", "--raw", d.ID).Output()
	for _, want := range []string{"remote address", "GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:11:01",
		"rdma_cm QPs\t : ON", "Device         : rxe0"} {
		if err != nil || !bytes.Contains(raw, []byte(want)) {
			t.Errorf("no %q in what perftest printed, %v", want, err)
		}
	}
	// A server that gets next to no CPU once it listens does so for the second time long after the client has come:
	// what was missed is carried out again, and said. The third server has its CPU for itself.
	suite("  - {name: late, rdma: {test: ib_write_bw, duration: 6s, size: 1024}}\n")
	onGuest(t, server, "setsid sh -c '"+slowServers+"' >/dev/null 2>&1 </dev/null & true")
	stderr.Reset()
	cmd = v.command(args("10.0.11.1", "--json")...)
	cmd.Stderr = &stderr
	if out, err = cmd.Output(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	d = netDocument{}
	if err := json.Unmarshal(out, &d); err != nil || len(d.Cells) != 1 ||
		d.Cells[0].Metrics[lab.Bitrate(lab.Send)].Center <= 0 {
		t.Fatalf("%v, %+v\n%s", err, d.Cells, &stderr)
	}
	if n := strings.Count(string(out), `"connection-missed"`); n != 2 {
		t.Errorf("%d times a connection was missed, expected 2\n%s", n, &stderr)
	}
	listeners := func() string {
		return onGuest(t, server, "rdma resource show cm_id; cat /proc/net/tcp | grep ':1451 '; true")
	}
	if left := listeners(); strings.Contains(left, "LISTEN") || strings.Contains(left, ":1451") {
		t.Errorf("left on the server: %s", left)
	}
	if out, err := v.command(args("10.0.12.1")...).CombinedOutput(); err == nil ||
		!bytes.Contains(out, []byte("there is no RDMA on it")) {
		t.Errorf("an address without RDMA: %v\n%s", err, out)
	}
	// Killed while a server listens, and put in order: nothing listens, and it never had a port of TCP.
	suite("  - {name: write, rdma: {test: ib_write_bw, duration: 300s, size: 1024}}\n")
	killed := v.command(args("10.0.11.1")...)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Second) {
		now := listeners()
		if strings.Contains(now, ":1451 ") {
			t.Errorf("it listens on a port of TCP: %s", now)
		}
		if strings.Contains(now, ":5201") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no server was started")
		}
	}
	if err := killed.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	if out, err := v.command("restore").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if left := listeners(); strings.Contains(left, ":5201") {
		t.Errorf("left on the server: %s", left)
	}
	if left := onGuest(t, server, "ps | grep '[i]b_write'; true"); left != "" {
		t.Errorf("left on the server: %s", left)
	}
}

// slowServers has each request to the RDMA connection manager, which is a write, take the first two servers of perftest
// a quarter of a second from when they listen on.
const slowServers = `
for n in 1 2; do
	until rdma resource show cm_id | grep -q :5201; do usleep 20000; done
	strace -qq -o /dev/null -e trace=write -e inject=write:delay_enter=250000 -p $(pidof ib_write_bw)
done`

// onGuest carries out a command in a guest, and returns what it printed.
func onGuest(t *testing.T, g host.Target, command string) string {
	t.Helper()
	out, err := g.Run(context.WithoutCancel(t.Context()), "sh", "-c", "PATH=$PATH:/usr/sbin:/sbin; "+command)
	if err != nil || out.ExitCode != 0 {
		t.Fatalf("%s: %d, %s%s, %v", command, out.ExitCode, out.Stdout, out.Stderr, err)
	}
	return strings.TrimSpace(string(out.Stdout))
}
