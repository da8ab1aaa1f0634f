//go:build bench && system

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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/figure/sampled"
)

// Measuring must not disturb what is measured. Here headroom runs one job and plain fio runs the same job, in turn
// (ABBA), and the interval of the ratio of what they report must lie close to 1.

func TestDisturbanceOnARateLimitedFile(t *testing.T) {
	// Pairs are measured, and more up to most while the interval is wider than within: what is waited for is a sharp
	// answer on a noisy machine, not a certain one.
	const pairs, most, within = 12, 24, 0.005
	params := map[string]string{"ioengine": "psync", "rw": "randread", "bs": "4k", "size": "16m", "runtime": "2",
		"time_based": "1", "rate_iops": "2000"}
	dir := t.TempDir()
	file := filepath.Join(dir, "plain")
	suiteFile := filepath.Join(dir, "one.yaml")
	var list []string
	for k, v := range params {
		list = append(list, fmt.Sprintf("%s: %q", k, v))
	}
	text := "version: 1\nname: one\ntitle: one job\nplace: directory\nrepetitions: 1\njobs:\n  - {name: one, fio: {" +
		strings.Join(list, ", ") + "}}\n"
	if err := os.WriteFile(suiteFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	// laid out before, as headroom's is
	lay := exec.Command("fio", "--name=lay", "--filename="+file, "--rw=write", "--bs=1m", "--size="+params["size"],
		"--refill_buffers", "--end_fsync=1")
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
		var s summary.Run
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
	figure.Record(t, sampled.Ratio("disturbance/rate-limited", logs,
		"").Saying("IOPS with headroom over IOPS of plain fio, same command, in turn, on a file limited to 2,000 IOPS"))
	if lo < 1-within || hi > 1+within {
		t.Errorf("[%.4f, %.4f] does not lie within %.1f%%", lo, hi, 100*within)
	}
}

// fio's null engine has no device to wait for, so nothing feels it more when somebody takes its processor, its caches
// or its time. While a null load runs, a headroom that follows a load of its own (one that hardly does anything) is
// frozen and let go on in turn, 50 ms each, in random order: neighbours on the same hardware change the speed of such
// a load by half from one second to the next, and two slices side by side share their luck, as two processes one after
// the other do not.
func TestDisturbanceOnTheNullEngine(t *testing.T) {
	const within = 0.02
	suiteFile := filepath.Join(t.TempDir(), "idle.yaml")
	text := "version: 1\nname: idle\ntitle: hardly a load\nplace: directory\nrepetitions: 1\njobs:\n" +
		"  - {name: idle, fio: {ioengine: \"null\", rw: randread, bs: 4k, size: 1g, rate_iops: 10, runtime: 200, " +
		"time_based: 1}}\n"
	if err := os.WriteFile(suiteFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	follower := exec.Command(binary(t), "run", suiteFile, dir, "--store", filepath.Join(dir, "store"))
	start(t, follower)
	waitForLoad(t, filepath.Join(dir, "store"))

	beside := func(name, what string, process *os.Process, most int) stat.Interval {
		var logs []float64
		interval := stat.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}
		for len(logs) < most && interval.Hi-interval.Lo > within {
			logs = append(logs, byTurns(t, process)...)
			interval = stat.MedianInterval(logs, 0.95)
		}
		figure.Record(t, sampled.Ratio(name, logs,
			"").Saying("IOPS of ioengine=null beside %s over those beside one that is frozen, pairs of 50 ms", what))
		return interval
	}
	interval := beside("disturbance/null", "a headroom that follows a load", follower.Process, 4000)
	if lo, hi := math.Exp(interval.Lo), math.Exp(interval.Hi); lo < 1-within || hi > 1+within {
		t.Errorf("[%.4f, %.4f] does not lie within %.1f%%", lo, hi, 100*within)
	}

	// What such a look would see: a process that keeps a core busy on a machine where fio can run beside it on no
	// other.
	busy := exec.Command("taskset", "-c", "0", "sh", "-c", "while :; do :; done")
	start(t, busy)
	if interval := beside("disturbance/null-beside-a-busy-core", "a busy core", busy.Process,
		200); math.Exp(interval.Hi) > 1-within {
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

// byTurns runs a null load of some seconds pinned to one core, freezes a process in one of every two slices, and
// returns the logarithms of the ratios of IOPS, awake to frozen.
func byTurns(t *testing.T, process *os.Process) []float64 {
	t.Helper()
	const slice, edge = 50 * time.Millisecond, 10 * time.Millisecond
	dir := t.TempDir()
	cmd := exec.Command("fio", "--name=probe", "--ioengine=null", "--rw=randread", "--bs=4k",
		"--size=1g", "--cpus_allowed=0",
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
