package varied

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/testing/rendertest"
	"github.com/headroom/headroom/internal/testing/summarytest"
)

// bySuite measures the loads of a suite like the IOThreads report's, in blocks: more jobs gain more from threads, large
// blocks are at the ceiling, and one load is harmed by many.
func bySuite(blocks int, sizes ...string) sweep.Document {
	r := rand.New(rand.NewPCG(1, 1))
	if sizes == nil {
		sizes = []string{"2k", "32k", "1m"}
	}
	in := sweep.Input{Run: "7KQ4M2X9TD", Factor: "guest:iothreads", Reference: &sweep.Arm{Name: "host"}}
	for _, l := range []string{"0", "1", "2", "4", "8"} {
		in.Levels = append(in.Levels, sweep.Arm{Name: l, ID: "iothreads=" + l})
	}
	for _, rw := range []string{"randread", "randwrite", "read"} {
		for _, bs := range sizes {
			for _, jobs := range []int{1, 4, 16} {
				for _, depth := range []int{1, 4, 16} {
					cell := sweep.CellInput{Cell: lab.Cell{Job: rw, ID: fmt.Sprintf("%s-%s-%d-%d", rw, bs, jobs, depth),
						Params: map[string]string{
							"rw": rw, "bs": bs, "numjobs": strconv.Itoa(jobs), "iodepth": strconv.Itoa(depth)}}}
					cell.Title = strings.TrimSuffix(fmt.Sprintf("%s %s q%d x%d", rw, bs, depth, jobs), " x1")
					in.Cells = append(in.Cells, measureLoad(r, &in, cell, blocks, jobs, depth))
				}
			}
		}
	}
	in.Warnings = []sweep.WarningInput{{Level: 2, CellWarning: lab.Warning{Code: "cpu-bound",
		Text: "the fio process used 99% of a core", Taints: []string{"*"}}.In(in.Cells[3].ID, 3, blocks)}}
	return sweep.Analyze(in)
}

func measureLoad(r *rand.Rand, in *sweep.Input, cell sweep.CellInput, blocks, jobs, depth int) sweep.CellInput {
	metric := "read.iops"
	if cell.Job == "randwrite" {
		metric = "write.iops"
	}
	if cell.Params["bs"] == "1m" {
		metric = strings.Replace(metric, "iops", "bandwidth", 1)
		cell.Ceilings = map[string]sweep.Ceiling{metric: {Value: 7.1e9, Limiter: "PCIe 3.0 x8 uplink 0000:17:00.0"}}
	}
	for b := 1; b <= blocks; b++ {
		machine := math.Exp(0.1 * r.NormFloat64())
		for level := range len(in.Levels) + 1 {
			threads := []float64{0.6, 1, 2, 4, 8, 7}[level]
			rate := 1e4 * math.Pow(math.Min(threads, float64(jobs)), 0.8) * math.Sqrt(float64(depth))
			if cell.Job == "randwrite" && depth == 16 && level == 4 {
				rate *= 0.7
			}
			if cell.Params["bs"] == "1m" {
				rate = 7e9
				machine = 1
			}
			noise := machine * math.Exp(0.015*r.NormFloat64())
			in.Measured = append(in.Measured, sweep.Measured{Level: level, Cell: cell.ID, Block: b,
				Values: map[string]float64{
					metric: rate * noise, lab.CPUPerIO: 4e-6 * (1 + 0.05*threads) * math.Exp(0.02*r.NormFloat64()),
					lab.EnergyPerIO: 1e-4 / noise}})
		}
	}
	return cell
}

// byKernel is the Talos report's chart.
func byKernel() sweep.Document {
	r := rand.New(rand.NewPCG(2, 1))
	in := sweep.Input{Factor: "kernel:image", Levels: []sweep.Arm{}}
	for _, k := range []struct{ name, srso string }{{"6.1.0-28-amd64", "Mitigation: Safe RET"}, {"6.2.16", ""},
		{"6.3.13", ""}, {"6.4.16", "Mitigation: Safe RET"}, {"6.6.54", "Mitigation: Safe RET"}} {
		facts := []lab.Fact{{Key: "cpu.vulnerability.meltdown", Value: "Not affected"}}
		if k.srso != "" {
			facts = append(facts, lab.Fact{Key: "cpu.vulnerability.spec_rstack_overflow", Value: k.srso})
		}
		in.Levels = append(in.Levels, sweep.Arm{Name: k.name, Facts: facts})
	}
	in.Cells = []sweep.CellInput{{Title: "randread 4k q128",
		Cell: lab.Cell{ID: "randread", Job: "randread", Params: map[string]string{"rw": "randread"}}}}
	for b := 1; b <= 10; b++ {
		for level, rate := range []float64{5.1e5, 1.02e6, 1.01e6, 5.2e5, 5.2e5} {
			in.Measured = append(in.Measured, sweep.Measured{Level: level, Cell: "randread", Block: b,
				Values: map[string]float64{"read.iops": rate * math.Exp(0.01*r.NormFloat64())}})
		}
	}
	return sweep.Analyze(in)
}

// byRate is a load curve.
func byRate() sweep.Document {
	r := rand.New(rand.NewPCG(3, 1))
	in := sweep.Input{Factor: "job:rate_iops", Settings: sweep.Settings{Limit: 2e-3},
		Cells: []sweep.CellInput{{Title: "randread 4k",
			Cell: lab.Cell{ID: "open", Job: "randread", Params: map[string]string{"rw": "randread", "bs": "4k"}}}}}
	for level, offered := range []float64{1000, 2000, 4000, 5000, 6000, 8000, 9000, 20000} {
		in.Levels = append(in.Levels, sweep.Arm{Name: fmt.Sprint(offered)})
		for b := 1; b <= 8; b++ {
			reached := min(offered, 9800)
			mean := 1 / (10000 - reached) * math.Exp(0.03*r.NormFloat64())
			in.Measured = append(in.Measured, sweep.Measured{Level: level, Cell: "open", Block: b,
				Values: map[string]float64{
					"read.iops": reached, "read.latency.mean": mean, "read.latency.p99": math.Log(100) * mean,
					lab.HostCPUPerIO: 1e-5 + 0.02/reached, lab.EnergyPerIO: 0.1 / reached}})
		}
	}
	return sweep.Analyze(in)
}

// byWord is a setting without numbers, of loads that keep their pace, and makes no difference.
func byWord(effect float64) sweep.Document {
	r := rand.New(rand.NewPCG(4, 1))
	in := sweep.Input{Factor: "queue:scheduler",
		Levels: []sweep.Arm{{Name: "none"}, {Name: "mq-deadline"}, {Name: "bfq"}}}
	for _, job := range []string{"database-transactions-with-a-long-name", "log"} {
		in.Cells = append(in.Cells, sweep.CellInput{Title: job + " 4k",
			Cell: lab.Cell{ID: job, Job: job, Params: map[string]string{"rw": "randrw", "thinktime": "10"}}})
		for b := 1; b <= 12; b++ {
			for level := range in.Levels {
				v := 1e-4 * (1 + effect*float64(level)) * math.Exp(0.01*r.NormFloat64())
				in.Measured = append(in.Measured, sweep.Measured{Level: level, Cell: job, Block: b,
					Values: map[string]float64{"read.latency.mean": v, "read.iops": 9, "write.latency.mean": 2 * v,
						"write.iops": 9}})
			}
		}
	}
	return sweep.Analyze(in)
}

func sweeps() map[string]sweep.Document {
	return map[string]sweep.Document{"suite": bySuite(10), "few blocks": bySuite(2), "kernel": byKernel(),
		"rate": byRate(), "same": byWord(0), "word": byWord(0.2),
		"nothing": nothingSwept()}
}

func nothingSwept() sweep.Document {
	return sweep.Analyze(sweep.Input{Factor: "sysctl:vm.swappiness", Levels: []sweep.Arm{{Name: "0"}, {Name: "60"}}})
}

// byMeans is a suite whose levels were not visited by turns, beside what the IOThreads report published.
func byMeans(t *testing.T) sweep.Document {
	t.Helper()
	d := bySuite(1, "2048")
	d.MeansOnly = true
	scores, err := reference.BuiltInScores("iothreads-report")
	if err != nil {
		t.Fatal(err)
	}
	d.AddPublished(scores)
	return d
}

func writtenSweep(t *testing.T, d sweep.Document, format string, o report.Options) string {
	t.Helper()
	return rendertest.Written(t, Sweep(d, o), format, o.Options)
}

func TestSweepTables(t *testing.T) {
	for name, d := range sweeps() {
		for _, width := range []int{40, 80, 160} {
			text := writtenSweep(t, d, "table", report.Options{Options: render.Options{Width: width}})
			for line := range strings.Lines(text) {
				if prose.Columns(strings.TrimRight(line, "\n")) > width {
					t.Errorf("%s: wider than %d: %q", name, width, line)
				}
			}
		}
	}
}

func TestSweepCSVReads(t *testing.T) {
	for name, d := range sweeps() {
		r := csv.NewReader(strings.NewReader(writtenSweep(t, d, "csv", report.Options{})))
		lines, err := r.ReadAll() // all lines have as many fields as the first
		if err != nil && err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
		want := 1
		for _, c := range d.Cells {
			want += len(c.Levels)
			if c.Reference != nil {
				want++
			}
		}
		if len(d.Cells) == 0 {
			for _, c := range d.Curves {
				want += len(c.Points)
			}
		}
		if len(lines) != want {
			t.Errorf("%s: %d lines, want %d", name, len(lines), want)
		}
	}
}

// A line for each level says whether its tail is within the limit, and what an I/O costs there.
func TestCurvesInASheet(t *testing.T) {
	lines, err := csv.NewReader(strings.NewReader(writtenSweep(t, byRate(), "csv", report.Options{}))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := func(line int, title string) string { return lines[line][slices.Index(lines[0], title)] }
	for i, want := range []string{"1", "1", "1", "1", "1", "0", "0", "0"} {
		if at(i+1, "limit") != "0.002" || at(i+1, "within") != want || at(i+1, "cpu_per_io") != "" {
			t.Errorf("%v", lines[i+1])
		}
	}
	if !strings.HasPrefix(at(1, "host_cpu_per_io"), "0.00003") || !strings.HasPrefix(at(1, "energy_per_io"), "0.0001") {
		t.Errorf("costs %v", lines[1])
	}
}

// What a reader must be told, in the words of the table and of the page alike.
func TestWhatASweepSays(t *testing.T) {
	all := sweeps()
	for name, want := range map[string][]string{
		"suite": {"guest:iothreads=8 is the best single choice: at worst 31%", "(randwrite 32k q16)",
			"81 loads: better than at 0 in 54, at the ceiling in 27; some level does harm in 4",
			"^ at the ceiling: 6.61 GiB/s, PCIe 3.0 x8 uplink 0000:17:00.0", "· no clear difference",
			"8 is worse than 4 in 3 loads", "cpu-bound", "at 2 (3 of 10 repetitions)",
			"An I/O at 8 takes", "the CPU time of the load's process",
			"all statements about cells hold together with 95%"},
		"few blocks": {"no level of guest:iothreads is clearly a better single choice than another: 2 blocks " +
			"say nothing of noise", "undecided in 54"},
		"kernel": {"6.2.16 is faster than 6.1.0-28-amd64: +10", "(another branch); likely because 6.2.16 lacks a " +
			"fix: of spec_rstack_overflow", "6.2.16 does not know of it",
			"6.4.16 is slower than 6.3.13", "longterm to 2027-12", "end of life"},
		"rate": {"randread 4k: up to 6.00k IOPS with read p99 within 2.00 ms, at job:rate_iops=6000; knee at 5000",
			"hat an I/O costs", "CPU of the host", "30.0 µs/op", "100 µJ/op"},
		"same": {"queue:scheduler makes no difference of more than 3% to any of 4 numbers"},
		"word": {"the baseline, queue:scheduler=none, is the best single choice",
			"bfq is worse than none in 4 loads: +40"},
		"nothing": {"sysctl:vm.swappiness: nothing was measured at two levels of it"},
	} {
		for _, format := range []string{"table", "html", "markdown"} {
			text := writtenSweep(t, all[name], format, report.Options{Options: render.Options{Width: 160}})
			plain := strings.NewReplacer("\\", "", "&#34;", `"`, "&#43;", "+", "&#39;",
				"'").Replace(strings.Join(strings.Fields(text), " "))
			for _, w := range want {
				if format != "markdown" || !strings.Contains(w, "longterm") && w != "end of life" &&
					!strings.HasPrefix(w, "^ at") && !strings.HasPrefix(w, "· no") {
					if !strings.Contains(plain, w) {
						t.Errorf("%s as %s: nothing of %q in\n%s", name, format, w, plain[:min(len(plain), 3000)])
					}
				}
			}
		}
	}
	if text := writtenSweep(t, all["suite"], "table",
		report.Options{Options: render.Options{Width: 80}}); strings.Contains(
		text, "what an I/O costs") {
		t.Errorf("a table lists what 81 loads cost at each level\n%s", text)
	}
	if text := writtenSweep(t, all["suite"], "table",
		report.Options{Options: render.Options{Width: 80}}); !strings.Contains(
		text,
		"randread 2k       1   1   1     4   4   4     8   8   8") ||
		!strings.Contains(text, "mean 2k          +52%  +52%  +52%    +357%") ||
		!strings.Contains(text, "read 1m          ·^  ·^") {
		t.Errorf("the matrices are not as they were\n%s", text)
	}
	if text := writtenSweep(t, all["few blocks"], "table",
		report.Options{Options: render.Options{Width: 80}}); strings.Contains(text, "+7") ||
		strings.Contains(text, "best single choice:") {
		t.Errorf("something is claimed of two blocks\n%s", text)
	}
}

// The published documents are valid JSON, and lists are never null.
func TestSweepDocuments(t *testing.T) {
	for name, d := range sweeps() {
		data, err := json.Marshal(d)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if text := string(data); strings.Contains(text, "null") ||
			!strings.HasPrefix(text, `{"schema":"headroom/sweep/v1"`) {
			t.Errorf("%s: %.300s", name, text)
		}
	}
}

// A saved run and its facts give the ceilings.
func TestSweepOfARun(t *testing.T) {
	run, repetitions := summarytest.Run(t, "measured")
	if _, err := sweep.OfRun(run, repetitions, nil, sweep.Settings{}); lab.KindOf(err) != lab.Usage {
		t.Errorf("a run that varies nothing is no sweep: %v", err)
	}
	run.Experiment = &lab.Experiment{Kind: "sweep",
		Factors:  []lab.VariedFactor{{Factor: "sysctl:x", Levels: []string{"1"}}},
		Baseline: run.Arms[0].ID, Margin: 0.03, Alpha: 0.05, Share: 0.9}
	d, err := sweep.OfRun(run, repetitions, nil, sweep.Settings{})
	if err != nil || d.Factor != "sysctl:x" || len(d.Levels) != 1 || len(d.Cells) != 0 {
		t.Errorf("%v: %+v", err, d)
	}
}

// oddSweep has what pictures and tables must cope with: one block, a gain of 5,000%, a load of which nothing came, 200
// loads, and names of 200 characters.
func oddSweep(loads int) sweep.Document {
	long := strings.Repeat("a-name-that-goes-on-", 10)
	in := sweep.Input{Run: "7KQ4M2X9TD", Factor: "sysctl:" + long, Reference: &sweep.Arm{Name: "the " + long}}
	for _, l := range []string{"1", long, long + "2", "1000000", "8"} {
		in.Levels = append(in.Levels, sweep.Arm{Name: l})
	}
	for i := range loads {
		job := []string{long + strconv.Itoa(i), "read" + strconv.Itoa(i), "zero" + strconv.Itoa(i)}[i%3]
		in.Cells = append(in.Cells, sweep.CellInput{Title: job, Cell: lab.Cell{ID: job, Job: job,
			Params: map[string]string{"rw": "read", "iodepth": strconv.Itoa(i % 40), "numjobs": strconv.Itoa(i / 40)}}})
		for level, rate := range []float64{100, 5100, 1e-3, 99, 101, 3e9} {
			if i%3 == 2 {
				rate = 0
			}
			in.Measured = append(in.Measured, sweep.Measured{Level: level, Cell: job, Block: 1,
				Values: map[string]float64{"read.iops": rate, lab.CPUPerIO: rate}})
		}
	}
	in.Warnings = []sweep.WarningInput{{Level: 1, CellWarning: lab.Warning{Code: "cpu-bound",
		Text: "the process " + long + " used 99% of a core", Taints: []string{"*"}}.In(in.Cells[0].ID, 1, 1)}}
	return sweep.Analyze(in)
}

// wideSweep is of levels that differ by more than their intervals can say: these leave the frame.
func wideSweep() sweep.Document {
	d := bySuite(4)
	d.Cells = d.Cells[:5]
	for i := range d.Cells {
		p := &d.Cells[i].Levels[i]
		lo, hi := *p.Value/1e6, *p.Value*5000
		p.Lo, p.Hi = &lo, &hi
	}
	return d
}

// wideSweeps are sweeps whose pages are looked at.
func wideSweeps() map[string]document.Document {
	documents := map[string]document.Document{"sweep of 200 loads": Sweep(oddSweep(200), report.Options{}),
		"wide sweep": Sweep(wideSweep(), report.Options{})}
	for name, d := range sweeps() {
		if len(d.Cells)+len(d.Curves) > 0 {
			documents["sweep, "+name] = Sweep(d, report.Options{})
		}
	}
	return documents
}

// The interval of a sweep that leaves its picture ends in an arrow.
func TestIntervalsOfSweepsEndInArrows(t *testing.T) {
	arrow := regexp.MustCompile(`d="M[^L"]+L[^L"]+L[^L"]+" fill="none"`)
	plots := rendertest.Pictures(Sweep(wideSweep(), report.Options{}))
	if len(plots) == 0 {
		t.Error("the sweep has no picture")
	}
	for _, p := range plots {
		if n := len(arrow.FindAllString(string(render.Picture(p)), -1)); n != 1 {
			t.Errorf("%s: %d arrows for the interval that leaves the picture", p.Title, n)
		}
	}
}
