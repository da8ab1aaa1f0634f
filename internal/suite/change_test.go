package suite

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/yamlfile"
)

func TestWith(t *testing.T) {
	s := decoded(t, `
version: 1
jobs:
  - {name: a, fio: {rw: read, runtime: 60s}, matrix: {bs: [4k, 8k], iodepth: [1, 2]}}
  - {name: b, fio: {rw: write}}
`)
	changed, err := s.With([]string{"--runtime=1s", "blocksize=64k", "time_based=1"})
	if err != nil {
		t.Fatal(err)
	}
	cells, err := changed.Cells(lab.Directory, false)
	if err != nil {
		t.Fatal(err)
	}
	const want = `a-q1 | a | read 64k q1 | layout load clean-up | n=3 1s | bs=64k iodepth=1 ioengine=psync runtime=1s rw=read time_based=1
a-q2 | a | read 64k q2 | layout load clean-up | n=3 1s | bs=64k iodepth=2 ioengine=psync runtime=1s rw=read time_based=1
b | b | write 64k q1 | layout load clean-up | n=3 1s | bs=64k ioengine=psync runtime=1s rw=write time_based=1
`
	if got := describe(cells); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if before, _ := s.Cells(lab.Directory, false); len(before) != 5 || before[0].Params["runtime"] != "60s" {
		t.Error("setting a parameter changed the suite it was set for")
	}

	nfs, err := Load("nfs")
	if err != nil {
		t.Fatal(err)
	}
	if changed, err = nfs.With([]string{"direct=1"}); err != nil {
		t.Fatal(err)
	}
	if cells, err := changed.Cells(lab.Directory, true); err != nil || cells[0].Params["direct"] != "1" ||
		cells[0].Params["randrepeat"] != "1" {
		t.Errorf("as published, but for direct: %v, %v", cells[0].Params, err)
	}
	if nfs.Published.Fio["direct"] != "0" {
		t.Error("setting a parameter changed the suite it was set for")
	}

	for setting, want := range map[string]string{
		"filename=/dev/sda": "--set filename=/dev/sda: filename can't be set: the place is not part of a suite: the " +
			"destruction guard looks at it first (name it on the command line: headroom run SUITE DEVICE, or " +
			"headroom run SUITE DIRECTORY)",
		"runtime=soon": `--set runtime=soon: runtime can't be "soon" (write 60s, 5m or 1h)`,
		"runtime":      `--set runtime: runtime can't be "" (write 60s, 5m or 1h)`,
		"iodpeth=4":    `--set iodpeth=4: fio has no parameter "iodpeth" (did you mean iodepth?)`,
		"time_based=1": "--set time_based=1: job b: time_based needs a runtime (add a runtime, such as 60s)",
		"=4":           `--set =4: "" is no name of a fio parameter (fio --cmdhelp=all lists them)`,
	} {
		_, err := s.With([]string{setting})
		checkProblems(t, err, []string{want})
	}
}

func TestNearest(t *testing.T) {
	known := []string{"name", "title", "repetitions", "iodepth", "iodepth_low", "rw", "bs"}
	for typed, want := range map[string]string{
		"repetition":  "repetitions",
		"repititoins": "repetitions",
		"nmae":        "name",
		"Name":        "",
		"iodpeth":     "iodepth",
		"iodeptsh":    "iodepth",
		"wr":          "", // too short to guess
		"naaame":      "",
		"colour":      "",
		"":            "",
	} {
		if got := yamlfile.Nearest(typed, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", typed, got, want)
		}
	}
}

// Options of iperf3 are set like fio's parameters, and an axis of that name is removed.
func TestWithOptionsOfANetwork(t *testing.T) {
	su, err := Load("network")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := su.With([]string{"parallel=4", "time=2s", "zerocopy=true"})
	if err != nil {
		t.Fatal(err)
	}
	cells, err := changed.Cells(lab.NoPlace, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(cells) != 3 || cells[0].ID != "send" || cells[1].Title() != "tcp reverse zerocopy x4" ||
		cells[2].Runtime != 3*time.Second {
		t.Errorf("%s", describe(cells))
	}
	if before, err := su.Cells(lab.NoPlace, false); err != nil || len(before) != 5 {
		t.Errorf("the suite itself has changed: %s, %v", describe(before), err)
	}
	for setting, want := range map[string]string{"bs=4k": "a network test has no option \"bs\"",
		"protocol=udp": "1 Mbit/s of UDP", "reverse=2": "write 0 or 1"} {
		if _, err := su.With([]string{setting}); lab.KindOf(err) != lab.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

// An option is set in jobs whose load generator has it; an option that no generator has is refused.
func TestWithSetsOptionsOfSeveralGenerators(t *testing.T) {
	s, err := Decode("mixed.yaml",
		[]byte("version: 1\njobs:\n  - {name: stream, iperf3: {time: 10s}}\n  - {name: query, sockperf: {protocol: "+
			"tcp}, matrix: {msg-size: [64, 1400]}}\n  - {name: write, rdma: {size: 64}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Place != Network {
		t.Errorf("its place is %s", s.Place)
	}
	set, err := s.With([]string{"time=5s", "msg-size=300", "size=4096"})
	if err != nil {
		t.Fatal(err)
	}
	cells, err := set.Cells(lab.NoPlace, false)
	if err != nil || len(cells) != 3 {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	for i, want := range []map[string]string{{"time": "5s"}, {"protocol": "tcp", "time": "5s", "msg-size": "300"},
		{"size": "4096"}} {
		if !maps.Equal(cells[i].Params, want) {
			t.Errorf("%s: %v, want %v", cells[i].ID, cells[i].Params, want)
		}
	}
	for _, bad := range []string{"nothing=1", "msg-size=0", "size=many"} {
		if _, err := s.With([]string{bad}); lab.KindOf(err) != lab.Usage {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
