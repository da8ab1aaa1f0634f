//go:build system

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/browsertest"
)

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
	// Each comes with what holds its loads, of which the second waits.
	held := func(t *testing.T, program, pattern string, cmd *exec.Cmd) (*exec.Cmd, hold) {
		t.Helper()
		folder := t.TempDir()
		return with(cmd, "PATH="+folder+":"+os.Getenv("PATH")), holdCalls(t, folder, program, pattern, 2)
	}
	for name, command := range map[string]func(*testing.T, fixture) (*exec.Cmd, hold){
		"run": func(t *testing.T, v fixture) (*exec.Cmd, hold) {
			return held(t, "fio", loadsOfFio, on(v, null, "run", "--repeat", "5"))
		},
		"sweep": func(t *testing.T, v fixture) (*exec.Cmd, hold) {
			return held(t, "fio", loadsOfFio, on(v, null, "sweep", "--factor", "job:iodepth=1,4", "--blocks", "2"))
		},
		"ablation": func(t *testing.T, v fixture) (*exec.Cmd, hold) {
			return held(t, "fio", loadsOfFio, on(v, null, "ablate", "--setting", "job:iodepth=4", "--blocks", "2"))
		},
		"bisection": func(t *testing.T, v fixture) (*exec.Cmd, hold) {
			b, arguments := bisectFixture(t)
			b.store = v.store
			stops := strings.Replace(oneSlowVariable, "if [", "seq 1 >/dev/null; if [", 1)
			if err := os.WriteFile(b.suite, []byte(stops), 0o644); err != nil {
				t.Fatal(err)
			}
			return held(t, "seq", "1", b.command(arguments...))
		},
		"ladder": func(t *testing.T, v fixture) (*exec.Cmd, hold) {
			r := newLadderFixture(t)
			drive := r.drive()
			r.throttled.bytes(drive, 16*megabytes)
			return held(t, "fio", loadsOfFio, r.throttled.command("headroom", "ladder", "--store", v.store, "--suite",
				r.suite, "--passes", "3", drive))
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newFixture(t)
			cmd, loads := command(t, v)
			watchInBrowser(t, v, cmd, loads)
		})
	}
}

// watchInBrowser starts a command that measures and looks at its page, which is left open until it ends. Its loads wait
// until the page has come to where they are.
func watchInBrowser(t *testing.T, v fixture, cmd *exec.Cmd, loads hold) {
	t.Helper()
	at := serving(t, v, "--listen", "127.0.0.1:0")
	b := browsertest.Open(t, "http://"+at.Host, time.Hour)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var run store.Row
	await(t, "the second load of a run", func() bool {
		if len(ended) > 0 {
			t.Fatalf("it ended by itself: %v\n%s", <-ended, said.String())
		}
		rows, err := store.Open(v.store).List()
		if err != nil || len(rows) == 0 {
			return false
		}
		run = rows[0]
		return loads.waiting(run.ID) > 0
	})
	b.Visit(t, "/")
	b.Do(t, chromedp.Click(chromedp.CSS(fmt.Sprintf("tr.running a[href='/runs/%s']", run.ID))))
	b.WaitUntil(t, `location.pathname.startsWith("/runs/") && document.querySelector("main h1") !== null`)
	// How far it has come, without the seconds that pass.
	const far = `[...document.querySelectorAll(".progress b")].map((e) => e.innerText).join()`
	b.WaitUntil(t, far+` !== "" && document.querySelector(".progress").innerText.includes(" so far")`)
	b.Do(t, chromedp.Evaluate[chromedp.Void]("window.first = "+far))
	loads.to(4)
	b.WaitUntil(t, far+` !== "" && `+far+` !== window.first`)
	loads.release()
	err := <-ended
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != app.ExitCode(&lab.Error{Kind: lab.Undecided}) {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, said.String())
	}
	b.WaitFor(t, "The run has ended.")
	b.WaitUntil(t, `document.querySelector(".progress") === null && document.querySelector("main h1") !== null`)
	if !browsertest.Ask(t, b, chromedp.Evaluate[bool]("window.first !== undefined")) {
		t.Error("the page was loaded again, and not followed")
	}
	b.Accessible(t)
}
