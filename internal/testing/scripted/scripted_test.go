package scripted_test

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/load/iperf3"
	"github.com/headroom/headroom/internal/testing/scripted"
)

func open(t *testing.T, m *scripted.Machine) *scripted.Target {
	t.Helper()
	tg, err := m.Open("scripted://" + m.Name)
	if err != nil {
		t.Fatal(err)
	}
	return tg
}

// set writes to a file as factors do.
func set(t *testing.T, tg host.Target, name, value string) host.Output {
	t.Helper()
	out, err := tg.Run(t.Context(), "sh", "-c", `printf %s "$1" | dd of="$2" bs=65536`, "mark", value, name)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestKernelFiles(t *testing.T) {
	m := scripted.New("db1")
	tg := open(t, m)
	const scheduler, sysctl = "/sys/block/nvme0n1/queue/scheduler", "/proc/sys/vm/dirty_ratio"
	if out := set(t, tg, scheduler, "kyber"); out.ExitCode != 0 || m.Get(scheduler) != "none mq-deadline [kyber]" {
		t.Errorf("it is %q after %v", m.Get(scheduler), out)
	}
	if out := set(t, tg, scheduler, "bfq"); out.ExitCode == 0 ||
		!strings.Contains(string(out.Stderr), "Invalid argument") || m.Get(scheduler) != "none mq-deadline [kyber]" {
		t.Errorf("it is %q after %v", m.Get(scheduler), out)
	}
	if out := set(t, tg, sysctl, "5"); out.ExitCode != 0 || m.Get(sysctl) != "5" {
		t.Errorf("it is %q after %v", m.Get(sysctl), out)
	}
	if out := set(t, tg, "/proc/sys/vm/none", "5"); out.ExitCode == 0 || m.Exists("/proc/sys/vm/none") {
		t.Errorf("the kernel has a new setting: %v", out)
	}
	if info, err := fs.Stat(tg.FS(), "sys/class/block/nvme0n1/queue"); err != nil || !info.IsDir() {
		t.Errorf("through links: %v, %v", info, err)
	}
}

func TestUnforeseen(t *testing.T) {
	m := scripted.New("db1")
	tg := open(t, m)
	if _, err := tg.Run(t.Context(), "mkfs", "/dev/sda"); err == nil {
		t.Error("a command that nobody wrote down was run")
	}
	if _, err := tg.Start(t.Context(), host.JobSpec{ID: "a", Argv: []string{"stress"}}); err == nil {
		t.Error("a program that is not there was started")
	}
	if got := m.Unexpected(); !slices.Equal(got, []string{"mkfs /dev/sda", "stress"}) {
		t.Errorf("%q", got)
	}
}

// The real parsers can read the output of scripted programs.
func TestLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := new(scripted.Network)
		client, server := net.New("a"), net.New("b")
		tg := open(t, client)
		finished := func(on host.Target, spec host.JobSpec) host.Job {
			t.Helper()
			j, err := on.Start(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			<-j.Done()
			return j
		}
		began := time.Now()
		params := map[string]string{"rw": "randrw", "rwmixread": "75", "bs": "4k", "iodepth": "8", "runtime": "30s",
			"time_based": "1"}
		j := finished(tg, host.JobSpec{ID: "1",
			Argv: fio.Argv("mixed", params, fio.Options{Filename: "/srv/x", Output: "fio.json", Logs: "series"})})
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("it took %s", took)
		}
		text, err := j.Fetch(t.Context(), "fio.json")
		if err != nil {
			t.Fatal(err)
		}
		documents, err := fio.ParseBytes(text)
		if err != nil || len(documents) != 1 {
			t.Fatalf("%d documents, %v", len(documents), err)
		}
		values := documents[0].Groups()[0].Values
		if values["read.iops"] != 75000 || values["write.iops"] != 25000 || values["read.latency.mean"] != 80e-6 {
			t.Errorf("%v", slices.Sorted(maps.Keys(values)))
		}
		if text, err := j.Fetch(t.Context(), "series_iops.log"); err != nil || strings.Count(string(text), "\n") != 60 {
			t.Errorf("%v: %s", err, text)
		}
		if stats := client.Get("/proc/diskstats"); !strings.Contains(stats, "nvme0n1 2251000 ") {
			t.Errorf("the disk did not see 2,250,000 reads: %s", stats)
		}

		at := open(t, server)
		argv := iperf3.Server(server.Address, iperf3.Port, time.Minute)
		serving, err := at.Start(t.Context(), host.JobSpec{ID: "2", Argv: argv})
		if err != nil {
			t.Fatal(err)
		}
		j = finished(tg, host.JobSpec{ID: "3", Argv: iperf3.Client(map[string]string{"time": "10s", "omit": "1s"},
			server.Address, iperf3.Port)})
		<-serving.Done()
		if text, err = j.Fetch(t.Context(), "stdout"); err != nil {
			t.Fatal(err)
		}
		r, err := iperf3.Parse(text)
		if err != nil || r.Failed != "" || r.Forward == nil || r.Forward.Rate() != 9.4e9/8 ||
			len(r.Forward.Intervals) != 11 {
			t.Errorf("%+v, %v", r, err)
		}
		j = finished(tg, host.JobSpec{ID: "4", Argv: iperf3.Client(nil, server.Address, iperf3.Port)})
		if text, err = j.Fetch(t.Context(), "stdout"); err != nil {
			t.Fatal(err)
		}
		if r, err := iperf3.Parse(text); err != nil || !strings.Contains(r.Failed, "Connection refused") {
			t.Errorf("without a server: %+v, %v", r, err)
		}
		for _, load := range client.Loads() {
			if load.Folder != path.Join("/dev/shm/headroom-0", load.ID) {
				t.Errorf("it works in %s", load.Folder)
			}
		}
	})
}
