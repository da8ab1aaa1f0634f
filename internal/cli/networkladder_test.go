package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// reportedLadder is the 200 Gbit/s report as a recorded ladder: eight ports of 25 Gbit/s in groups of two, four and
// two, and what iperf3 gave. Rates that the report does not state are what follows from it: a port by itself was full,
// each generator came to 96 of 100 by itself.
type reportedLadder struct {
	host, label string
	without     []string // facts of the host that were changed
	with        []lab.Fact
	loopback    float64
	all         float64
}

// recorded saves a ladder and returns its ID.
func (r reportedLadder) recorded(t *testing.T, dir string) string {
	t.Helper()
	server := lab.RunTarget{Role: experiment.ServerRole, Target: "ssh://db1", Place: lab.Place{Kind: lab.NoPlace},
		Facts: r.facts(t)}
	client := lab.RunTarget{Role: experiment.ClientRole, Target: "ssh://generator1",
		Place: lab.Place{Kind: lab.NoPlace}}
	var addresses []string
	run := lab.Run{ID: store.NewID(), Label: r.label, Status: lab.Complete, Source: lab.Measured,
		Created: time.Unix(1724000000, 0), Suite: "network ladder", Repetitions: 4,
		Terms:   &lab.Terms{Margin: ladder.DefaultMargin, Alpha: ladder.DefaultAlpha},
		Targets: []lab.RunTarget{client, server}, Concurrent: &lab.ConcurrentDesign{Kind: results.NetworkKind},
		Arms: []lab.Arm{{ID: runner.AllTargets, Role: runner.AllTargets,
			Levels: map[string]string{lab.TargetLevel: runner.AllTargets}}}}
	rates := map[string]float64{}
	add := func(id string, kind ladder.Kind, gigabits float64, over ...string) {
		o := lab.Combination{ID: id + "-send", Title: id, Rung: id, Kind: string(kind), Over: over, Direction: lab.Send}
		if kind == ladder.Loopback {
			o.ID = id
		}
		run.Concurrent.Combinations = append(run.Concurrent.Combinations, o)
		rates[o.ID] = gigabits * 1e9
		run.Cells = append(run.Cells, lab.Cell{ID: lab.CellIn(o.ID, runner.AllTargets), Arm: runner.AllTargets,
			Job: o.ID, Engine: lab.EngineIperf3, Params: map[string]string{"parallel": "16"}})
	}
	for i := range 8 {
		addresses = append(addresses, fmt.Sprintf("10.0.%d.1", i+1))
		run.Network = append(run.Network, lab.NetworkPair{Client: experiment.ClientRole, Server: experiment.ServerRole,
			Address: addresses[i],
			Port:    5201 + i})
	}
	run.Network = append(run.Network, lab.NetworkPair{Client: experiment.ServerRole, Server: experiment.ServerRole,
		Address: "127.0.0.1",
		Port:    5209})
	add("loopback-server", ladder.Loopback, r.loopback, experiment.ServerRole)
	for i, a := range addresses {
		add(fmt.Sprintf("port-%d", i+1), ladder.Port, 24, a)
	}
	add("group-application", ladder.Ports, 48, addresses[:2]...)
	add("group-data", ladder.Ports, 96, addresses[2:6]...)
	add("group-backup", ladder.Ports, 48, addresses[6:]...)
	add("all", ladder.Ports, r.all, addresses...)
	w, err := store.Open(dir).Create(run)
	if err != nil {
		t.Fatal(err)
	}
	for block := 1; block <= 4; block++ {
		for _, o := range run.Concurrent.Combinations {
			rate := rates[o.ID] * (1 + 0.004*float64((block*7+len(o.ID))%3-1))
			rep := lab.Repetition{Cell: lab.CellIn(o.ID, runner.AllTargets), Number: block, Block: block,
				Values: map[string]float64{lab.Bitrate(lab.Send): rate}}
			if err := w.Repetition(rep); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(func(*lab.Run) {}); err != nil {
		t.Fatal(err)
	}
	return run.ID
}

// facts are those of the host of the report, which the rules have as a fixture, with an address for each port.
func (r reportedLadder) facts(t *testing.T) []lab.Fact {
	t.Helper()
	data, err := os.ReadFile("../rule/testdata/hosts/" + r.host)
	if err != nil {
		t.Fatal(err)
	}
	var h struct {
		Facts []struct{ Fact, About, Value string }
	}
	if err := yaml.Unmarshal(data, &h); err != nil {
		t.Fatal(err)
	}
	var all []lab.Fact
	for _, f := range h.Facts {
		if slices.Contains(r.without, f.Fact) {
			continue
		}
		all = append(all, lab.Fact{Key: f.Fact, About: f.About, Value: f.Value})
		if f.Fact == "nic.kind" {
			all = append(all, lab.Fact{Key: "nic.addresses", About: f.About,
				Value: fmt.Sprintf("10.0.%d.1/24", f.About[len("eth")]-'0'+1)})
		}
	}
	return append(all, r.with...)
}

// The 200 Gbit/s report, replayed: its verdict is that the machine itself moves no more than 170 Gbit/s, that numa=off
// is why, and that the CPUs of one socket are the best that is left where it must stay.
func TestTheReportOf200GbitIsReplayed(t *testing.T) {
	dir := t.TempDir()
	found := reportedLadder{host: "beeline-numa-off.yaml", label: "as found", loopback: 170, all: 100}.recorded(t, dir)
	reportedLadder{host: "beeline-numa-on.yaml", label: "numa on", loopback: 380, all: 190}.recorded(t, dir)
	reportedLadder{host: "beeline-numa-off.yaml", label: "one socket", loopback: 250, all: 160,
		without: []string{"cpu.threads"},
		with:    []lab.Fact{{Key: "cpu.threads", Value: "64"}}}.recorded(t, dir)
	printed := func(args ...string) (ladder.Document, string) {
		t.Helper()
		var out, errs bytes.Buffer
		all := append([]string{"headroom", "ladder", "--store", dir, "--resume", found}, args...)
		if code := Run(t.Context(), app.Environment{Args: all, Stdout: &out, Stderr: &errs}); code != 0 {
			t.Fatalf("%v: %d\n%s", args, code, &errs)
		}
		var d ladder.Document
		text := out.String()
		out.Reset()
		if code := Run(t.Context(), app.Environment{Args: append(all, "--json"), Stdout: &out, Stderr: &errs}); code !=
			0 || json.Unmarshal(out.Bytes(), &d) != nil {
			t.Fatalf("%v: %d\n%s", args, code, &errs)
		}
		return d, strings.Join(strings.Fields(text), " ")
	}
	d, text := printed("--beside", "numa on", "--beside", "one socket")
	t.Log(text)
	if d.Answer.Rung == nil || d.Rungs[*d.Answer.Rung].Kind != ladder.Loopback || len(d.Suspects) == 0 ||
		d.Suspects[0].Rule != "numa-one-node" {
		t.Fatalf("%+v, %+v", d.Answer, d.Suspects)
	}
	for _, w := range []string{"loopback of ssh://db1 reaches 86%", "170 Gbit/s of 198 Gbit/s",
		"won't move through its ports", "cmdline:numa=absent", "The best of it: numa on 190 Gbit/s.",
		"all 8 ports 190 Gbit/s, 99.8 Gbit/s before", "all 8 ports together reach 52%", "numa: off, then absent"} {
		if !strings.Contains(text, w) {
			t.Errorf("without --keep nothing of %q", w)
		}
	}
	kept, text := printed("--beside", "numa on", "--beside", "one socket", "--keep", "cmdline:numa=off")
	t.Log(text)
	for _, w := range []string{"kept: cmdline:numa=off", "not offered: cmdline:numa=absent", "CPUs of one socket",
		"The best of it is not allowed: numa on 190 Gbit/s. The best that is: one socket 160 Gbit/s.",
		"all 8 ports 160 Gbit/s, 99.8 Gbit/s before", "160 instead of 100 Gb/s"} {
		if !strings.Contains(text, w) {
			t.Errorf("with --keep nothing of %q", w)
		}
	}
	if i, any := ladder.Best(kept.TuningRuns); i != 1 || any != 0 {
		t.Errorf("the best are %d and %d", i, any)
	}
}
