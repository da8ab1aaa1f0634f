//go:build system

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"headroom/internal/load/fio"
	"headroom/internal/report"
	"headroom/internal/stat"
)

// Measuring must not disturb what is measured. Here headroom runs one job and plain fio runs the same job, in turn
// (ABBA), and the interval of the ratio of what they report must lie close to 1.

func TestDisturbanceOnARateLimitedFile(t *testing.T) {
	forBench(t)
	// Pairs are measured, and more up to most while the interval is wider than within: what is waited for is a sharp answer on
	// a noisy machine, not a certain one.
	const pairs, most, within = 12, 24, 0.005
	params := map[string]string{"ioengine": "psync", "rw": "randread", "bs": "4k", "size": "16m", "runtime": "2", "time_based": "1", "rate_iops": "2000"}
	dir := t.TempDir()
	file := filepath.Join(dir, "plain")
	suiteFile := filepath.Join(dir, "one.yaml")
	var list []string
	for k, v := range params {
		list = append(list, fmt.Sprintf("%s: %q", k, v))
	}
	text := "version: 1\nname: one\ntitle: one job\nplace: directory\nrepetitions: 1\njobs:\n  - {name: one, fio: {" + strings.Join(list, ", ") + "}}\n"
	if err := os.WriteFile(suiteFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	// laid out before, as headroom's is
	lay := exec.Command("fio", "--name=lay", "--filename="+file, "--rw=write", "--bs=1m", "--size="+params["size"], "--refill_buffers", "--end_fsync=1")
	if out, err := lay.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	plain := func() float64 {
		argv := fio.Argv("one", params, fio.Options{Filename: file})
		out, err := exec.Command(argv[0], argv[1:]...).Output()
		if err != nil {
			t.Fatal(err)
		}
		documents, err := fio.ParseBytes(out)
		if err != nil || len(documents) != 1 {
			t.Fatal(len(documents), err)
		}
		return documents[0].Groups()[0].Values["read.iops"]
	}
	ours := func() float64 {
		cmd := exec.Command("headroom", "run", suiteFile, dir, "--json", "--store", filepath.Join(dir, "store"))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var s report.Summary
		if err := json.Unmarshal(out, &s); err != nil {
			t.Fatal(err)
		}
		return s.Cells[0].Metrics["read.iops"].Center
	}
	var logs []float64
	var interval stat.Interval
	for i := 0; i < pairs || i < most && interval.Hi-interval.Lo > within; i++ {
		var a, b float64
		if i%2 == 0 {
			a, b = ours(), plain()
		} else {
			b, a = plain(), ours()
		}
		logs = append(logs, math.Log(a/b))
		interval = stat.MedianInterval(logs, 0.95)
	}
	lo, hi := math.Exp(interval.Lo), math.Exp(interval.Hi)
	t.Logf("figure: headroom / plain fio, IOPS: %.4f [%.4f, %.4f], n=%d pairs", math.Exp(interval.Center), lo, hi, len(logs))
	if lo < 1-within || hi > 1+within {
		t.Errorf("[%.4f, %.4f] does not lie within %.1f%%", lo, hi, 100*within)
	}
}

// fio's null engine has no device to wait for, so nothing feels it more when somebody takes its processor, its caches or its
// time. While a null load runs, a headroom that follows a load of its own (one that hardly does anything) is frozen and let go
// on by turns, 50 ms each, in random order: neighbours on the same hardware change the speed of such a load by half from one
// second to the next, and two slices side by side share their luck, as two processes one after the other do not.
func TestDisturbanceOnTheNullEngine(t *testing.T) {
	forBench(t)
	const within = 0.02
	suiteFile := filepath.Join(t.TempDir(), "idle.yaml")
	text := "version: 1\nname: idle\ntitle: hardly a load\nplace: directory\nrepetitions: 1\njobs:\n" +
		"  - {name: idle, fio: {ioengine: \"null\", rw: randread, bs: 4k, size: 1g, rate_iops: 10, runtime: 200, time_based: 1}}\n"
	if err := os.WriteFile(suiteFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	follower := exec.Command(binary(t), "run", suiteFile, dir, "--store", filepath.Join(dir, "store"))
	start(t, follower)
	waitForLoad(t, filepath.Join(dir, "store"))

	beside := func(process *os.Process, most int) stat.Interval {
		var logs []float64
		interval := stat.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}
		for len(logs) < most && interval.Hi-interval.Lo > within {
			logs = append(logs, byTurns(t, process)...)
			interval = stat.MedianInterval(logs, 0.95)
		}
		t.Logf("figure: IOPS of the null engine beside it, awake / frozen: %.4f [%.4f, %.4f], n=%d pairs of 50 ms",
			math.Exp(interval.Center), math.Exp(interval.Lo), math.Exp(interval.Hi), len(logs))
		return interval
	}
	interval := beside(follower.Process, 4000)
	if lo, hi := math.Exp(interval.Lo), math.Exp(interval.Hi); lo < 1-within || hi > 1+within {
		t.Errorf("[%.4f, %.4f] does not lie within %.1f%%", lo, hi, 100*within)
	}

	// What such a look would see: a process that keeps a core busy on a machine where fio can run beside it on no other.
	busy := exec.Command("taskset", "-c", "0", "sh", "-c", "while :; do :; done")
	start(t, busy)
	if interval := beside(busy.Process, 200); math.Exp(interval.Hi) > 1-within {
		t.Errorf("a busy core went unseen: [%.4f, %.4f]", math.Exp(interval.Lo), math.Exp(interval.Hi))
	}
}

// start starts a command that ends with the test.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Signal(syscall.SIGINT)
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
	})
}

// byTurns runs a null load of some seconds pinned to one core, freezes a process in one of every two slices, and returns the
// logarithms of the ratios of IOPS, awake to frozen.
func byTurns(t *testing.T, process *os.Process) []float64 {
	t.Helper()
	const slice, edge = 50 * time.Millisecond, 10 * time.Millisecond
	dir := t.TempDir()
	cmd := exec.Command("fio", "--name=probe", "--ioengine=null", "--rw=randread", "--bs=4k", "--size=1g", "--cpus_allowed=0",
		"--runtime=11", "--time_based", "--write_iops_log=probe", "--log_avg_msec=10", "--log_unix_epoch=1")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	type turn struct {
		from, to time.Time
		frozen   bool
	}
	var turns []turn
	for range 100 {
		first := rand.IntN(2) == 0
		for _, frozen := range []bool{first, !first} {
			signal := syscall.SIGCONT
			if frozen {
				signal = syscall.SIGSTOP
			}
			if err := process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			from := time.Now()
			time.Sleep(slice)
			turns = append(turns, turn{from.Add(edge), time.Now(), frozen})
		}
	}
	if err := process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	samples := readProbe(t, filepath.Join(dir, "probe_iops.1.log"))
	mean := func(of turn) float64 {
		sum, n := 0.0, 0.0
		for at, iops := range samples {
			// a sample is of the 10 ms before its time
			if at >= of.from.UnixMilli()+10 && at <= of.to.UnixMilli() {
				sum, n = sum+iops, n+1
			}
		}
		return sum / n
	}
	var logs []float64
	for i := 0; i < len(turns); i += 2 {
		awake, frozen := turns[i], turns[i+1]
		if awake.frozen {
			awake, frozen = frozen, awake
		}
		if ratio := math.Log(mean(awake) / mean(frozen)); !math.IsNaN(ratio) && !math.IsInf(ratio, 0) {
			logs = append(logs, ratio)
		}
	}
	if len(logs) < 50 {
		t.Fatalf("of 100 pairs %d could be compared; %d samples", len(logs), len(samples))
	}
	return logs
}

// readProbe reads the log of a load, IOPS by the time of the clock in milliseconds:
//
//	1763750000123, 361234, 0, 0, 0
func readProbe(t *testing.T, name string) map[int64]float64 {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	samples := map[int64]float64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(lines.Text(), ", ")
		at, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil || len(fields) < 2 {
			t.Fatal(lines.Text())
		}
		iops, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			t.Fatal(lines.Text())
		}
		samples[at] = iops
	}
	return samples
}

// waitForLoad waits until a run has a load in progress.
func waitForLoad(t *testing.T, store string) {
	t.Helper()
	for range 400 {
		found, err := filepath.Glob(filepath.Join(store, "runs", "*", "active.json"))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		time.Sleep(2 * time.Second) // for fio to start, and headroom to come to rest
		return
	}
	t.Fatal("no load was started")
}

// What headroom asks of fio besides the job, its logs, costs instructions in each I/O. They are counted, because no clock is
// steady enough to tell 1%: with the same input valgrind counts the same, whatever else the machine does. That holds for the
// thread that does the I/O. fio's main thread waits for it and counts up to 3% more or less from one start to the next.
func TestLogsCostFewInstructions(t *testing.T) {
	const most = 1.02
	params := map[string]string{"ioengine": "null", "rw": "randread", "bs": "4k", "size": "1g", "thread": "1"}
	count := func(ios int, opt fio.Options) float64 {
		p := map[string]string{"number_ios": strconv.Itoa(ios)}
		for k, v := range params {
			p[k] = v
		}
		cmd := exec.Command("valgrind", append([]string{"--tool=callgrind", "--separate-threads=yes", "--callgrind-out-file=count"},
			fio.Argv("one", p, opt)...)...)
		cmd.Dir = t.TempDir()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		// fio starts its helper first (count-02) and the thread of the job after it (count-03).
		text, err := os.ReadFile(filepath.Join(cmd.Dir, "count-03"))
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`(?m)^totals: (\d+)$`).FindSubmatch(text)
		if m == nil {
			t.Fatalf("no total in\n%.500s", text)
		}
		n, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	perIO := func(opt fio.Options) float64 {
		const few, many = 20000, 60000 // the difference leaves out the thread's start and end
		return (count(many, opt) - count(few, opt)) / (many - few)
	}
	plain := perIO(fio.Options{Output: "out.json"})
	ours := perIO(fio.Options{Output: "out.json", Logs: "series", Progress: true})
	t.Logf("figure: instructions of fio's null engine for an I/O: %.0f plain, %.0f with headroom's logs: %.4f times", plain, ours, ours/plain)
	if plain < 500 {
		t.Errorf("%.0f instructions for an I/O: another thread was counted", plain)
	}
	if ours > most*plain {
		t.Errorf("%.4f times as many instructions", ours/plain)
	}
}
