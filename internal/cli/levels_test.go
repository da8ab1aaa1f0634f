package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/sweep"
)

// clusterBusterLevels writes the reports of ClusterBuster, as its json-summary prints them, of virtual machines with 0,
// 1, 4 and 16 I/O threads and of pods. The rates are made up: 4 threads double one job, 16 do no more; sixteen jobs go
// on gaining.
func clusterBusterLevels(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	report := func(n int, class, threads string, gain map[int]float64) {
		results, jobs := map[string]any{}, map[string]any{}
		for i, numjobs := range []int{1, 16} {
			for j, depth := range []int{1, 4} {
				key := fmt.Sprintf("%04d-randread-4096-%d-%d-0-1-libaio", 2*i+j, depth, numjobs)
				ios := int(10 * 5000 * float64(numjobs*depth) * gain[numjobs])
				results[key] = map[string]any{"job_results": map[string]any{"read": map[string]any{"io_kbytes": 4 * ios,
					"total_ios": ios, "runtime": 10000, "runtime_counter": 1}}}
				jobs[key] = map[string]any{"pattern": "randread", "blocksize": 4096, "iodepth": depth,
					"numjobs": numjobs}
			}
		}
		command := []string{"clusterbuster", "--workload=fio", "--runtimeclass=" + class}
		if threads != "" {
			command = append(command, "--vm-block-multiqueue="+threads)
		}
		data, err := json.Marshal(map[string]any{"summary": map[string]any{"total_instances": 1, "total_pods": 1,
			"results": results},
			"metadata": map[string]any{"kind": "clusterbusterResults", "workload": "fio", "runtime_class": class,
				"command_line":      command,
				"workload_metadata": map[string]any{"jobs": jobs}}})
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(dir, fmt.Sprintf("fio-%s-%04d-1P", class, n))
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "clusterbuster-report.json"), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	report(0, "vm", "", map[int]float64{1: 1, 16: 1})
	report(1, "vm", "1", map[int]float64{1: 1.1, 16: 1.5})
	report(2, "vm", "4", map[int]float64{1: 2, 16: 3})
	report(3, "vm", "16", map[int]float64{1: 2.1, 16: 6})
	report(4, "runc", "", map[int]float64{1: 2.5, 16: 5})
	return dir
}

// What ClusterBuster measured at several levels has the figures of merit of a sweep, by the means, and nothing of it is
// proved.
func TestFiguresOfMeritOfAnImport(t *testing.T) {
	store, dir := t.TempDir(), clusterBusterLevels(t)
	if printed := printedBy(t, store, "headroom import "+dir); !strings.Contains(printed, "--factor guest:iothreads") {
		t.Errorf("the import does not say how its levels are shown:\n%s", printed)
	}
	show := "headroom sweep --show last --factor guest:iothreads --reference kube:runtime_class=runc"
	var d sweep.Document
	if err := json.Unmarshal([]byte(printedBy(t, store, show+" --json")), &d); err != nil {
		t.Fatal(err)
	}
	if !d.MeansOnly || len(d.Cells) != 4 || d.Baseline != "0" || d.Reference != "runc" {
		t.Fatalf("%+v", d)
	}
	for _, c := range d.Cells {
		enough, gain, reference := "4", 2.1, 2.1/2.5
		if c.Params["numjobs"] == "16" {
			enough, gain, reference = "16", 6, 6.0/5
		}
		off := func(got *sweep.Ratio, want float64) bool {
			return got == nil || got.Ratio/want > 1.001 || got.Ratio/want < 0.999
		}
		if c.Top != "16" || c.SmallestForShare != enough || off(c.Gain, gain) || off(c.ToReference, reference) ||
			c.Verdict != sweep.Undecided || c.Distinguishable {
			t.Errorf("%+v", c)
		}
	}
	table := printedBy(t, store, show)
	for _, want := range []string{"by the means guest:iothreads=16 is the best single choice", "nothing is proved",
		"randread 4k", "~16", "~+500%", "~ by the means alone"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	for _, name := range []string{"levels.html", "levels.md", "levels.csv"} {
		printedBy(t, store, show+" -o "+filepath.Join(dir, name))
		if page, err := os.ReadFile(filepath.Join(dir, name)); err != nil ||
			!strings.Contains(string(page), "guest:iothreads") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Beside the report's own table, of which these are four of 144 loads.
	printed := printedBy(t, store, show+" --published reference:iothreads-report --json")
	d = sweep.Document{}
	if err := json.Unmarshal([]byte(printed), &d); err != nil {
		t.Fatal(err)
	}
	if p := d.Published; p == nil || len(p.Loads) != 4 || p.Missing != 140 || p.Factor != d.Factor ||
		p.Loads[0].Agrees != "" {
		t.Errorf("%+v", p)
	}
	table = printedBy(t, store, show+" --published reference:iothreads-report")
	for _, want := range []string{"4 loads in common; 140 more of its loads were not measured here", "+432%"} {
		if !strings.Contains(strings.Join(strings.Fields(table), " "), want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	// Another share and baseline.
	d = sweep.Document{}
	if err := json.Unmarshal([]byte(printedBy(t, store, show+" --share 40% --baseline 1 --json")), &d); err != nil {
		t.Fatal(err)
	}
	if c := d.Cells[3]; d.Baseline != "1" || d.Share != 0.4 || c.SmallestForShare != "4" {
		t.Errorf("%+v", d)
	}
}

// Stages have figures of merit as levels have.
func TestFiguresOfMeritOfStages(t *testing.T) {
	t.Chdir("../..")
	store := t.TempDir()
	printedBy(t, store, "headroom import --stages 'ram,one path,two paths,rdma' docs/examples/nfs-over-rdma.txt")
	var d sweep.Document
	if err := json.Unmarshal(
		[]byte(printedBy(t, store, "headroom sweep --show last --factor stage --baseline 'one path' --json")),
		&d); err != nil {
		t.Fatal(err)
	}
	if d.Factor != "stage" || d.Baseline != "one path" || len(d.Levels) != 4 || len(d.Cells) == 0 {
		t.Errorf("%+v", d)
	}
}
