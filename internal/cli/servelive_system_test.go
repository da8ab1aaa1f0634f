//go:build system

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"headroom/internal/app"
	"headroom/internal/browsertest"
	"headroom/internal/lab"
	"headroom/internal/store"
)

// pictures notes what the content of a page is whenever it changes.
const pictures = `window.seen = []; new MutationObserver(() => {
	const now = document.getElementById("content").innerText;
	if (now !== seen.at(-1)) seen.push(now);
}).observe(document.getElementById("content"), {childList: true, subtree: true})`

// A reader opens the page of an experiment that goes on, and leaves it open: it follows the experiment, says how far
// that is, and has its result in the end.
func TestWatchExperiments(t *testing.T) {
	t.Parallel()
	const null = "version: 1\njobs:\n  - {name: read, fio: {ioengine: \"null\", rw: randread, bs: 4k, size: 1g, " +
		"runtime: 1s, time_based: 1}}\n"
	on := func(v fixture, suite, command string, more ...string) *exec.Cmd {
		t.Helper()
		if err := os.WriteFile(v.suite, []byte(suite), 0o644); err != nil {
			t.Fatal(err)
		}
		return v.command(append([]string{command, v.suite, v.place}, more...)...)
	}
	for name, command := range map[string]func(*testing.T, fixture) *exec.Cmd{
		"run": func(_ *testing.T, v fixture) *exec.Cmd { return on(v, null, "run", "--repeat", "5") },
		"sweep": func(_ *testing.T, v fixture) *exec.Cmd {
			return on(v, null, "sweep", "--factor", "job:iodepth=1,4", "--blocks", "2")
		},
		"ablation": func(_ *testing.T, v fixture) *exec.Cmd {
			return on(v, null, "ablate", "--setting", "job:iodepth=4", "--blocks", "2")
		},
		"bisection": func(t *testing.T, v fixture) *exec.Cmd {
			b, arguments := bisectFixture(t)
			b.store = v.store
			slow := strings.Replace(oneSlowVariable, "if [", "sleep 0.5; if [", 1)
			if err := os.WriteFile(b.suite, []byte(slow), 0o644); err != nil {
				t.Fatal(err)
			}
			return b.command(arguments...)
		},
		"ladder": func(t *testing.T, v fixture) *exec.Cmd {
			r := newLadderFixture(t)
			drive := r.drive()
			r.throttled.bytes(drive, 16*megabytes)
			return r.throttled.command("headroom", "ladder", "--store", v.store, "--suite", r.suite, "--passes", "3",
				drive)
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newFixture(t)
			watchInBrowser(t, v, command(t, v))
		})
	}
}

// watchInBrowser starts a command that measures and looks at its page until it ends.
func watchInBrowser(t *testing.T, v fixture, cmd *exec.Cmd) {
	t.Helper()
	at := serving(t, v, "--listen", "127.0.0.1:0")
	b := browsertest.Open(t, "http://"+at.Host, 10*time.Minute)
	b.Visit(t, "/") // which takes a browser some seconds the first time
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var run store.Row
	await(t, "a run", func() bool {
		rows, err := store.Open(v.store).List()
		if err != nil || len(rows) == 0 {
			return false
		}
		run = rows[0]
		return true
	})
	signal := func(s syscall.Signal) {
		t.Helper()
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatalf("run %s is %s before it was looked at: %v\n%s", run.ID, run.Status, err, said.String())
		}
	}
	signal(syscall.SIGSTOP) // until the page is there, however long that takes
	b.Visit(t, "/")
	b.Do(t, chromedp.Click(chromedp.CSS(fmt.Sprintf("tr.running a[href='/runs/%s']", run.ID))))
	b.WaitUntil(t, `location.pathname.startsWith("/runs/") && document.querySelector("main h1") !== null`)
	b.Do(t, chromedp.Evaluate[chromedp.Void](pictures))
	signal(syscall.SIGCONT)
	err := <-ended
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != app.ExitCode(&lab.Error{Kind: lab.Undecided}) {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, said.String())
	}
	b.WaitFor(t, "The run has ended.")
	b.WaitUntil(t, `document.querySelector(".progress") === null && document.querySelector("main h1") !== null`)
	seen := browsertest.Ask(t, b, chromedp.Evaluate[[]string]("seen"))
	if len(seen) < 2 { // on a machine that is busy a page takes long to make, and is made less often
		t.Errorf("the page changed %d times: %q", len(seen), seen)
	}
	if !slices.ContainsFunc(seen, func(s string) bool { return strings.Contains(s, " so far") }) {
		t.Errorf("it says nowhere how far it has come: %q", seen)
	}
	b.Accessible(t)
}
