//go:build bench && system

package cli

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/figure/sampled"
)

// startServing starts headroom serve and returns the address of its first page, as soon as it is said.
func startServing(t *testing.T, program, store string) (server *exec.Cmd, address string) {
	t.Helper()
	server = exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--store", store)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, server)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return server, strings.TrimSpace(line)
}

func get(t *testing.T, address string) string {
	t.Helper()
	got, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", address, got.Status, err)
	}
	return string(body)
}

// The first page of many runs comes at once, from the start of the program on, and takes little memory.
func TestServingManyRuns(t *testing.T) {
	const runs, repetitions, starts = 10_000, 24, 11
	program := binary(t)
	dir, _ := manyRuns(t, runs, repetitions)
	if out, err := exec.Command(program, "list", "--limit", "1", "--store", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var first, again, memory []float64
	for range starts {
		begun := time.Now()
		server, address := startServing(t, program, dir)
		if body := get(t, address); !strings.Contains(body, fmt.Sprintf("%d runs", runs)) {
			t.Fatal("it lists others")
		}
		first = append(first, time.Since(begun).Seconds())
		begun = time.Now()
		get(t, address+"?q=quick&sort=suite&page=3")
		again = append(again, time.Since(begun).Seconds())
		memory = append(memory, peakMemory(t, server.Process.Pid))
		if err := server.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	figure.Record(t, sampled.Median("serve/first-page", "s", first, figure.Lower).
		Saying("from the start of headroom serve to its first page, of 10,000 runs that were listed before"))
	figure.Record(t, sampled.Median("serve/search", "s", again, figure.Lower).
		Saying("a search among 10,000 runs"))
	figure.Record(t, sampled.Median("serve/memory", "B", memory, figure.Lower).
		Saying("the most memory that headroom serve had by then"))
}

// peakMemory of a process is what /proc/PID/status says, in bytes:
//
//	VmHWM:	   87272 kB
func peakMemory(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s", text)
	}
	kb, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return 1024 * kb
}

// A reader who follows a run takes little from a load beside: headroom serve is frozen and let go on in turn, as in
// TestDisturbanceOnTheNullEngine.
func TestDisturbanceOfServing(t *testing.T) {
	const within, most = 0.02, 4000
	program, dir := binary(t), t.TempDir()
	suite, store := filepath.Join(dir, "idle.yaml"), filepath.Join(dir, "store")
	text := "version: 1\nname: idle\ntitle: hardly a load\nplace: directory\nrepetitions: 400\njobs:\n" +
		"  - {name: idle, fio: {ioengine: \"null\", rw: randread, bs: 4k, size: 1g, rate_iops: 10, runtime: 1, " +
		"time_based: 1}}\n"
	if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	start(t, exec.Command(program, "run", suite, dir, "--store", store))
	waitForLoad(t, store)
	server, address := startServing(t, program, store)
	found, err := filepath.Glob(filepath.Join(store, "runs", "*", "active.json"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	run := address + "runs/" + filepath.Base(filepath.Dir(found[0]))
	renewed := follow(t, run)
	var logs []float64
	interval := math.Inf(1)
	for len(logs) < most && interval > within {
		logs = append(logs, byTurns(t, server.Process)...)
		m := sampled.Ratio("", logs, "")
		interval = m.Hi - m.Lo
	}
	figure.Record(t, sampled.Ratio("disturbance/serve", logs, "").Saying(
		"IOPS of ioengine=null beside a headroom serve whose reader follows a run, over those beside one that is frozen"))
	if n := renewed(); n < 5 {
		t.Errorf("the reader's page was renewed %d times", n)
	}
}

// follow does what a browser does with the page of a run that goes on: it fetches it again at each change. How often is
// told in the end.
func follow(t *testing.T, run string) (renewed func() int) {
	t.Helper()
	m := regexp.MustCompile(`data-changes="([^"]+)"`).FindStringSubmatch(get(t, run))
	if m == nil {
		t.Fatal("the page of the run does not follow it")
	}
	got, err := http.Get(run[:strings.Index(run, "/runs/")] + strings.ReplaceAll(m[1], "&amp;", "&"))
	if err != nil {
		t.Fatal(err)
	}
	count := make(chan int)
	go func() {
		n := 0
		for lines := bufio.NewScanner(got.Body); lines.Scan(); {
			if lines.Text() == "event: changed" {
				if page, err := http.Get(run); err == nil {
					_, _ = io.Copy(io.Discard, page.Body)
					_ = page.Body.Close()
					n++
				}
			}
		}
		count <- n
	}()
	return func() int { _ = got.Body.Close(); return <-count }
}
