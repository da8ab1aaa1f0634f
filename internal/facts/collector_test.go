package facts

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"headroom/internal/lab"
	"headroom/internal/target"
)

// TestGolden compares everything that is found on each saved machine: the place, the facts, the machine's few and the
// counters.
func TestGolden(t *testing.T) {
	for _, m := range machines(t) {
		t.Run(m.name, func(t *testing.T) {
			place, err := ResolvePlace(t.Context(), m, m.place)
			if err != nil {
				t.Fatal(err)
			}
			facts, err := Snapshot(t.Context(), m, place)
			if err != nil {
				t.Fatal(err)
			}
			checkWhole(t, facts)
			counters, err := ReadCounters(t.Context(), m, place.Disks)
			if err != nil {
				t.Fatal(err)
			}
			counters.Time = time.Time{}
			var b strings.Builder
			fmt.Fprintf(&b, "place %+v\n", place)
			for _, f := range facts {
				b.WriteString(line(f))
			}
			machine := Machine(facts)
			rotational := "unknown"
			if machine.Rotational != nil {
				rotational = fmt.Sprint(*machine.Rotational)
				machine.Rotational = nil
			}
			fmt.Fprintf(&b, "machine %+v\nrotational %s\ncounters %+v\n", machine, rotational, counters)
			golden(t, m.name+".golden", b.String())
		})
	}
}

func line(f lab.Fact) string {
	if f.Unknown != "" {
		return fmt.Sprintf("%s unknown: %s [%s]\n", f.Key, f.Unknown, f.Source)
	}
	return fmt.Sprintf("%s = %s [%s]\n", f.Key, f.Value, f.Source)
}

// checkWhole says what holds for the facts of any machine.
func checkWhole(t *testing.T, facts []lab.Fact) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range facts {
		if seen[f.Key] {
			t.Errorf("%s is there twice", f.Key)
		}
		seen[f.Key] = true
		if f.Value == "" && f.Unknown == "" {
			t.Errorf("%s is blank and nobody says why", f.Key)
		}
		if f.Value != "" && f.Unknown != "" {
			t.Errorf("%s is known and unknown", f.Key)
		}
		if strings.ContainsAny(f.Value, "\n\x00") {
			t.Errorf("%s holds more than a line: %q", f.Key, f.Value)
		}
		if f.Source == "" && !strings.HasPrefix(f.Key, "place.") {
			t.Errorf("%s has no source", f.Key)
		}
	}
	if len(facts) < 60 {
		t.Errorf("only %d facts", len(facts))
	}
}

// TestLive reads this very machine.
func TestLive(t *testing.T) {
	local := target.NewLocal(t.TempDir())
	place, err := ResolvePlace(t.Context(), local, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	facts, err := Snapshot(t.Context(), local, place)
	took := time.Since(start)
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, facts)
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	if got, want := valueOf(facts, "kernel.release"), unix.ByteSliceToString(name.Release[:]); got != want {
		t.Errorf("kernel.release is %q, uname says %q", got, want)
	}
	if m := Machine(facts); m.MemoryBytes <= 0 || m.Cores <= 0 || m.Filesystem == "" {
		t.Errorf("the machine is not described: %+v", m)
	}
	if took > 2*snapshotLimit {
		t.Errorf("the snapshot took %v", took)
	}
	t.Logf("%d facts in %v", len(facts), took)
}

func valueOf(facts []lab.Fact, key string) string {
	for _, f := range facts {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// slow is a saved machine on which a file system hangs and a command does not end.
type slow struct {
	*machine
	hang chan struct{}
}

func (s slow) FS() fs.FS { return slowFS{s.machine.FS(), s.hang} }

func (s slow) Run(ctx context.Context, _ ...string) (target.Output, error) {
	<-ctx.Done()
	return target.Output{}, ctx.Err()
}

type slowFS struct {
	fs.FS
	hang chan struct{}
}

func (s slowFS) Open(name string) (fs.File, error) {
	if name == inside(cpuInfoPath) {
		<-s.hang
	}
	return s.FS.Open(name)
}

func (s slowFS) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(s.FS, name) }
func (s slowFS) ReadLink(name string) (string, error)   { return fs.ReadLink(s.FS, name) }

func TestSnapshotDoesNotHang(t *testing.T) {
	t.Parallel()
	s := slow{saved(t, "firecracker"), make(chan struct{})}
	defer close(s.hang)
	place, err := ResolvePlace(t.Context(), s, "/srv/scratch")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	facts, err := Snapshot(t.Context(), s, place)
	if err != nil || time.Since(start) > snapshotLimit+time.Second {
		t.Fatalf("%v after %v", err, time.Since(start))
	}
	reasons := map[string]string{}
	for _, f := range facts {
		reasons[f.Key] = f.Unknown
	}
	for key, want := range map[string]string{
		"collector.cpu": "did not answer", "collector.machine": "did not answer", "tool.fio.version": "did not end within",
		"filesystem.free": "did not end within", "kernel.release": "", "disk.under-test.size": "",
	} {
		if got, ok := reasons[key]; !ok || !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q, there: %v", key, got, ok)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Snapshot(ctx, s, place); err == nil {
		t.Error("a cancelled snapshot ends without an error")
	}
}

func TestShow(t *testing.T) {
	for _, c := range []struct {
		fact lab.Fact
		want string
	}{
		{lab.Fact{Key: "disk.under-test.size", Value: "7681501126656"}, "7.68 TB"},
		{lab.Fact{Key: "memory.total", Value: "270186901504"}, "252 GiB"},
		{lab.Fact{Key: "boot.uptime", Value: "350735.47"}, "97h 26m"},
		{lab.Fact{Key: "load.pressure.io", Value: "0.0046"}, "0.5%"},
		{lab.Fact{Key: "cpu.frequency.max", Value: "4035644000"}, "4.04 GHz"},
		{lab.Fact{Key: "cpu.frequency.max", Value: "4900000000 1, 3700000000 1"}, "4900000000 1, 3700000000 1"},
		{lab.Fact{Key: "disk.under-test.queue.nr_requests", Value: "1023"}, "1023"},
		{lab.Fact{Key: "kernel.arch", Unknown: "no such file here"}, "unknown: no such file here"},
	} {
		if got := Show(c.fact); got != c.want {
			t.Errorf("%s: %q, want %q", c.fact.Key, got, c.want)
		}
	}
}

func TestKernelVersion(t *testing.T) {
	for release, want := range map[string][3]int{
		"6.18.44-fc": {6, 18, 1}, "5.10.0-33-amd64": {5, 10, 1}, "4.4": {4, 4, 1}, "6.9-rc1": {6, 9, 1},
		"linux": {}, "6.": {}, "": {}, "6.x1": {},
	} {
		major, minor, ok := kernelVersion(release)
		if ok != (want[2] == 1) || ok && (major != want[0] || minor != want[1]) {
			t.Errorf("%q: %d.%d, %v", release, major, minor, ok)
		}
	}
}
