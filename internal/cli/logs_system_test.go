//go:build system

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/testing/figure"
)

// What headroom asks of fio besides the job, its logs, costs instructions in each I/O. They are counted, because no
// clock is steady enough to tell 1%: with the same input valgrind counts the same, whatever else the machine does. That
// holds for the thread that does the I/O. fio's main thread waits for it and counts up to 3% more or less from one
// start to the next.
func TestLogsCostFewInstructions(t *testing.T) {
	const most = 1.02
	params := map[string]string{"ioengine": "null", "rw": "randread", "bs": "4k", "size": "1g", "thread": "1"}
	count := func(ios int, opt fio.Options) float64 {
		p := map[string]string{"number_ios": strconv.Itoa(ios)}
		for k, v := range params {
			p[k] = v
		}
		cmd := exec.Command("valgrind",
			append([]string{"--tool=callgrind", "--separate-threads=yes", "--callgrind-out-file=count"},
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
	figure.Record(t, figure.Figure{Name: "disturbance/instructions", Unit: "ratio", Center: ours / plain,
		Better: figure.Lower,
		Text: fmt.Sprintf("instructions of fio's thread for an I/O of the null engine, with headroom's logs (%.0f) "+
			"over without (%.0f)", ours, plain)})
	if plain < 500 {
		t.Errorf("%.0f instructions for an I/O: another thread was counted", plain)
	}
	if ours > most*plain {
		t.Errorf("%.4f times as many instructions", ours/plain)
	}
}
