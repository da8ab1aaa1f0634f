package ingest

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/golden"
)

// TestGolden imports fixtures of every format and compares the complete results with testdata/golden.
func TestGolden(t *testing.T) {
	cases := []struct {
		name  string
		files []string
	}{
		{"fio-json-plus", []string{"fio/fio-3.33-jsonplus-3jobs-group.json"}},
		{"fio-two-jobs-and-sync", []string{"fio/fio-2.2.10-two-jobs.json", "fio/fio-3.42-fdatasync.json"}},
		{"fio-old", []string{"fio/fio-2.21-randrw-fsync.json", "fio/fio-3.16-randread-jobs4-group.json"}},
		{"fio-client", []string{"fio/fio-3.33-client-server.json"}},
		{"fio-no-latency", []string{"fio/fio-3.33-gtod_reduce-2jobs.json"}},
		{"fio-note-before", []string{"fio/fio-3.33-json-with-note-prefix.txt"}},
		{"fio-normal-and-json", []string{"fio/fio-3.33-normal-and-json.txt", "text/fio-3.33-randrw-normal.txt"}},
		{"fio-status-interval", []string{"fio/fio-3.33-status-interval-multi-doc.txt"}},
		{"fio-steadystate", []string{"fio/fio-3.33-steadystate.json"}},
		{"fio-error", []string{"fio/fio-3.33-json-with-error-prefix.txt", "fio/fio-3.42-open-error.txt"}},
		{"fio-text-whole", []string{"text/fio-3.42-write-normal.txt", "text/fio-2.2.10-write-normal.txt"}},
		{"fio-text-ram", []string{"text/nfs-over-rdma-tmpfs.txt"}},
		{"fio-text-rdma", []string{"text/nfs-over-rdma-rdma.txt"}},
		{"fio-text-three-pages", []string{"text/nfs-over-rdma-ipoib.txt", "text/nfs-over-rdma-multipath.txt",
			"text/nfs-over-rdma-tmpfs.txt"}},
		{"fio-text-mislabelled", []string{"text/mislabelled.txt"}},
		{"bench-fio", []string{"bench-fio/results"}},
		{"clusterbuster-bundle", []string{"clusterbuster/ci-bundle"}},
		{"clusterbuster-summary", []string{"clusterbuster/summary.json"}},
		{"crystaldiskmark", []string{"crystaldiskmark/8.0.4.txt", "crystaldiskmark/8.0.4-quoted.md"}},
		{"crystaldiskmark-old", []string{"crystaldiskmark/6.0.2.txt", "crystaldiskmark/5.1.0.txt",
			"crystaldiskmark/3.0.1.txt"}},
		{"crystaldiskmark-9", []string{"crystaldiskmark/9.0.1.txt"}},
		{"kdiskmark", []string{"kdiskmark/2.2.1.txt", "kdiskmark/3.2.0.txt"}},
		{"kubestr", []string{"kubestr/fio.json"}},
		{"dbench", []string{"dbench/summaries.txt"}},
		{"proxmox-migration", []string{"proxmox/dedicated.txt", "proxmox/management.txt"}},
		{"table", []string{"table/levels.csv"}},
		{"table-across", []string{"table/levels-across.csv"}},
		{"iperf3-tcp", []string{"iperf3/iperf3-3.7-tcp-P2.json", "iperf3/iperf3-3.12-tcp-P2.json",
			"iperf3/iperf3-3.21-json-stream.txt"}},
		{"kubestr-text", []string{"kubestr-text/fio.txt"}},
		{"kbench", []string{"kbench/one.txt", "kbench/two.txt", "kbench/old.txt"}},
		{"yabs", []string{"yabs/2023.txt", "yabs/2026.txt"}},
		{"sysbench", []string{"sysbench/1.0.20.txt", "sysbench/1.1.0.txt", "sysbench/0.4.12.txt"}},
		{"elbencho", []string{"elbencho/table.txt", "elbencho-csv/results.csv"}},
		{"pgbench", []string{"pgbench/16.txt", "pgbench/9.6-two.txt"}},
		{"ioping-hdparm", []string{"ioping/1.3.txt", "ioping/0.6.txt", "hdparm/tT.txt"}},
		{"dd", []string{"dd/gnu.txt", "dd/locales.txt"}},
		{"iperf3-other", []string{"iperf3/iperf3-3.21-bidir.json", "iperf3/iperf3-3.12-udp.json",
			"iperf3/iperf3-3.12-connect-error-rc0.json"}},
		{"iperf-text", []string{"iperf-text/3.12-bidir-V.txt", "iperf-text/2.1.8-udp-P2.txt",
			"iperf-text/3.12-pasted.txt"}},
		{"perftest-text", []string{"perftest-text/all-sizes.txt"}},
		{"perftest-json", []string{"perftest-text/json.txt"}},
		{"sockperf-text", []string{"sockperf-text/ping-pong.txt"}},
		{"netperf-text", []string{"netperf-text/pasted.txt"}},
		{"neper", []string{"neper/pasted.txt"}},
		{"netperf-columns", []string{"netperf-text/columns.txt"}},
		{"iperf3-appended", []string{"iperf3/iperf3-3.12-appended.json"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := dump(importFiles(t, c.files...))
			golden.Equal(t, filepath.Join("testdata", "golden", c.name+".txt"), got)
		})
	}
}

// TestFixturesUsed fails if a fixture is in no golden case, or a golden file has no fixture.
func TestFixturesUsed(t *testing.T) {
	source, err := os.ReadFile("golden_test.go")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	err = filepath.WalkDir("testdata", func(name string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(filepath.ToSlash(name), "testdata/")
		switch {
		case err != nil || d.IsDir() || strings.HasPrefix(rel, "fuzz/"):
			return err
		case strings.HasPrefix(rel, "golden/"):
			rel = strings.TrimSuffix(strings.TrimPrefix(rel, "golden/"), ".txt")
		case strings.HasPrefix(rel, "bench-fio/"), strings.HasPrefix(rel, "clusterbuster/ci-bundle/"):
			return nil // whole trees
		}
		if checked++; !strings.Contains(string(source), `"`+rel+`"`) {
			t.Errorf("no test case names %s", rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 20 {
		t.Errorf("only %d fixtures were found", checked)
	}
}

// collected is a sink that keeps everything.
type collected struct {
	raw         map[string]string
	repetitions []lab.Repetition
}

func (c *collected) Raw(name string, data []byte) error {
	if c.raw == nil {
		c.raw = map[string]string{}
	}
	if _, ok := c.raw[name]; ok {
		return fmt.Errorf("raw file %s was given twice", name)
	}
	c.raw[name] = string(data)
	return nil
}

func (c *collected) Repetition(rep lab.Repetition) error {
	for _, r := range rep.Raw {
		if _, ok := c.raw[r]; !ok {
			return fmt.Errorf("repetition %d of %s names the raw file %s, which was not given", rep.Number, rep.Cell, r)
		}
	}
	c.repetitions = append(c.repetitions, rep)
	return nil
}

func openFile(name string) (fs.File, error) { return os.Open(name) }

func importFiles(t *testing.T, files ...string) (lab.Run, *collected) {
	t.Helper()
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = filepath.Join("testdata", filepath.FromSlash(f))
	}
	sink := &collected{}
	run, err := Import(context.Background(), sources(names...), nil, openFile, sink)
	if err != nil {
		t.Fatal(err)
	}
	return run, sink
}

// dump writes a complete import as lines that can be read and compared.
func dump(run lab.Run, sink *collected) string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s, %s, of %s, repetitions %d, created %s, finished %s\n", run.Source, run.Status, run.Format,
		run.Repetitions, moment(run.Created), moment(run.Finished))
	for _, t := range run.Targets {
		fmt.Fprintf(&b, "target %s = %q, %s %s\n", t.Role, t.Target, t.Place.Kind, t.Place.Path)
		for _, f := range t.Facts {
			fmt.Fprintf(&b, "  %s = %s\n", f.Key, f.Value)
		}
	}
	for _, a := range run.Arms {
		fmt.Fprintf(&b, "arm %s of %s %v\n", a.ID, a.Role, a.Levels)
	}
	for _, c := range run.Cells {
		fmt.Fprintf(&b, "cell %s in %s: %s by %s\n ", c.ID, c.Arm, c.Job, c.Engine)
		for _, k := range slices.Sorted(maps.Keys(c.Params)) {
			fmt.Fprintf(&b, " %s=%s", k, c.Params[k])
		}
		b.WriteByte('\n')
	}
	for _, r := range sink.repetitions {
		fmt.Fprintf(&b, "repetition %d of %s, from %v", r.Number, r.Cell, r.Raw)
		if !r.Start.IsZero() {
			fmt.Fprintf(&b, ", at %s", moment(r.Start))
		}
		if r.Seconds > 0 {
			fmt.Fprintf(&b, ", %v s", r.Seconds)
		}
		b.WriteByte('\n')
		if len(r.Command) > 0 {
			fmt.Fprintf(&b, "  $ %s\n", lab.ShellQuote(r.Command))
		}
		for _, k := range slices.Sorted(maps.Keys(r.Values)) {
			fmt.Fprintf(&b, "  %s = %.6g\n", k, r.Values[k])
		}
		for _, k := range slices.Sorted(maps.Keys(r.Latency)) {
			n := uint64(0)
			for _, c := range r.Latency[k].Counts {
				n += c
			}
			fmt.Fprintf(&b, "  latency of %s: %d operations in %d bins\n", k, n, len(r.Latency[k].Counts))
		}
		for _, s := range r.Series {
			fmt.Fprintf(&b, "  series of %s: %v\n", s.Metric, s.Values)
		}
		warnings(&b, "  ", r.Warnings)
	}
	warnings(&b, "", run.Warnings)
	return b.String()
}

// warnings writes the warnings of imports. Warnings of package validity have tests there, and TestWarnings here.
func warnings(b *strings.Builder, indent string, all []lab.Warning) {
	for _, w := range all {
		if !strings.HasPrefix(w.Code, "import-") && w.Code != "workers-apart" && w.Code != "only-sent" {
			continue
		}
		fmt.Fprintf(b, "%s! %s %v: %s\n", indent, w.Code, w.Taints, w.Text)
	}
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}
