//go:build system

package serve

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"headroom/internal/lab"
	"headroom/internal/summary/summarytest"
)

// browser is a Chromium that shows pages of one server.
type browser struct {
	context.Context
	address string

	mu sync.Mutex
	// wrong is what pages said of errors, and what they asked of others.
	wrong []string
}

// openBrowser opens one. What a page says of errors, and what it asks of anybody but the server, fails the test.
func openBrowser(t *testing.T, address string) *browser {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("chromium is not installed: apt-get install chromium")
	}
	b := &browser{address: address}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(cancel)
	b.Context = ctx
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, what := range b.wrong {
			t.Error(what)
		}
	})
	return b
}

func (b *browser) hear(event any) {
	say := func(format string, a ...any) {
		b.mu.Lock()
		b.wrong = append(b.wrong, fmt.Sprintf(format, a...))
		b.mu.Unlock()
	}
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.address+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
			say("the page asked for %s", e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		say("a script failed: %s", e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		say("the browser logged: %s %s", e.Entry.Text, e.Entry.URL)
	case *runtime.EventConsoleAPICalled:
		say("the page said %s", e.Type)
	}
}

// do carries out what a reader does.
func (b *browser) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b, actions...); err != nil {
		t.Fatal(err)
	}
}

// ask is what an action says of the page.
func ask[V any](t *testing.T, b *browser, action chromedp.Action[V]) V {
	t.Helper()
	v, err := chromedp.Run(b, action)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// open opens a page by its path.
func (b *browser) open(t *testing.T, path string) {
	t.Helper()
	b.do(t, chromedp.Navigate(b.address+path), chromedp.WaitReady(chromedp.CSS("#content")))
}

// waitFor waits until a page has a text.
func (b *browser) waitFor(t *testing.T, text string) {
	t.Helper()
	b.waitUntil(t, fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// waitUntil waits until something is true, also of a page that is still to come.
func (b *browser) waitUntil(t *testing.T, condition string) {
	t.Helper()
	for b.Err() == nil {
		if there, err := chromedp.Run(b, chromedp.Evaluate[bool](condition)); err == nil && there {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("it never came to %s", condition)
}

// at is the path at which the browser is, with its parameters.
func (b *browser) at(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(ask(t, b, chromedp.Location()))
	if err != nil {
		t.Fatal(err)
	}
	return u.RequestURI()
}

// tabTo presses Tab until an element has the focus that a selector names.
func (b *browser) tabTo(t *testing.T, selector string) {
	t.Helper()
	const most = 400
	for range most {
		b.do(t, chromedp.KeyEvent(kb.Tab))
		if ask(t, b, chromedp.Evaluate[bool](fmt.Sprintf("document.activeElement.matches(%q)", selector))) {
			return
		}
	}
	t.Fatalf("Tab does not lead to %s", selector)
}

// accessible has axe-core look for serious faults of the page, by day and by night, wide and narrow.
func (b *browser) accessible(t *testing.T) {
	t.Helper()
	axe, err := os.ReadFile("testdata/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 400} {
			_, err := chromedp.Call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
			if err != nil {
				t.Fatal(err)
			}
			b.do(t, chromedp.EmulateViewport(width, 900), chromedp.Evaluate[chromedp.Void](string(axe)))
			faults := ask(t, b, chromedp.Evaluate[[]string](`axe.run().then((r) => r.violations
				.filter((v) => v.impact === "serious" || v.impact === "critical")
				.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.target + " " + n.failureSummary).join("; ")))`,
				chromedp.EvalAwaitPromise))
			wide := ask(t, b, chromedp.Evaluate[bool](
				"document.documentElement.scrollWidth > document.documentElement.clientWidth"))
			for _, fault := range faults {
				t.Errorf("%s, %s, %d wide: %s", b.at(t), scheme, width, fault)
			}
			if wide {
				t.Errorf("%s is wider than %d", b.at(t), width)
			}
		}
	}
	b.do(t, chromedp.EmulateViewport(1280, 900))
}

// A reader finds a run, opens it, and compares two, with the mouse.
func TestBrowseRuns(t *testing.T) {
	a, all := saved(t, 12, nil)
	b := openBrowser(t, served(t, Options{App: a}).URL)
	b.open(t, "/")
	b.waitFor(t, "12 runs")
	b.accessible(t)
	b.do(t, chromedp.SendKeys(chromedp.CSS(`input[name="q"]`), "rns0000007"+kb.Enter))
	b.waitFor(t, "1 of 12 runs")
	b.do(t, chromedp.Click(chromedp.CSS("tbody a")), chromedp.WaitReady(chromedp.CSS("main h1")))
	if at := b.at(t); at != "/runs/"+all[6].ID {
		t.Errorf("the link leads to %s", at)
	}
	b.accessible(t)
	b.open(t, "/")
	for _, i := range []int{3, 5} {
		b.do(t, chromedp.Click(chromedp.CSS(fmt.Sprintf(`input[value="%s"]`, all[i].ID))))
	}
	b.do(t, chromedp.Click(chromedp.CSS("#compare button")))
	b.waitUntil(t, `location.pathname === "/compare" && document.querySelector("main h1") !== null`)
	b.waitFor(t, "run 4")
	if at := b.at(t); !strings.HasPrefix(at, "/compare?run=") || !strings.Contains(at, all[3].ID) ||
		!strings.Contains(at, all[5].ID) {
		t.Errorf("it is compared at %s", at)
	}
	b.accessible(t)
	b.open(t, "/?q=none-such")
	b.accessible(t)
}

// The same with the keyboard alone.
func TestBrowseWithKeyboard(t *testing.T) {
	a, all := saved(t, 3, nil)
	b := openBrowser(t, served(t, Options{App: a}).URL)
	b.open(t, "/")
	b.tabTo(t, ".skip")
	b.tabTo(t, `input[name="q"]`)
	b.do(t, chromedp.KeyEvent("rns0000002"+kb.Enter))
	b.waitFor(t, "1 of 3 runs")
	b.tabTo(t, `a[href="/runs/`+all[1].ID+`"]`)
	b.do(t, chromedp.KeyEvent(kb.Enter), chromedp.WaitReady(chromedp.CSS("main h1")))
	if at := b.at(t); at != "/runs/"+all[1].ID {
		t.Errorf("Enter leads to %s", at)
	}
	b.open(t, "/")
	for _, i := range []int{2, 0} {
		b.tabTo(t, fmt.Sprintf(`input[value="%s"]`, all[i].ID))
		b.do(t, chromedp.KeyEvent(" "))
	}
	b.do(t, chromedp.KeyEvent(kb.Enter)) // submits the form of the box
	b.waitUntil(t, `location.pathname === "/compare"`)
}

// The page of a run that goes on follows it until it ends, without being asked.
func TestWatchARun(t *testing.T) {
	a, run, w := goingOn(t)
	b := openBrowser(t, served(t, Options{App: a}).URL)
	b.open(t, "/runs/"+run.ID)
	b.waitFor(t, "this page follows it")
	said := lab.Progress{At: time.Now(), Count: "3/8", Doing: "randwrite 4k q1", Elapsed: 60, Left: 100}
	if err := w.Progress(said); err != nil {
		t.Fatal(err)
	}
	b.waitFor(t, "3/8")
	b.waitFor(t, said.Doing)
	b.waitFor(t, "so far, about 1m 3") // a second or some have passed
	b.waitUntil(t, `document.querySelector("progress").value > 0.37`)
	before := ask(t, b, chromedp.InnerHTML(chromedp.CSS("main h1")))
	_, repetitions := summarytest.Run(t, "measured")
	for rep, err := range repetitions {
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Repetition(rep); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	b.waitUntil(t, fmt.Sprintf(`document.querySelector("main h1").innerHTML !== %q`, before))
	b.accessible(t)
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
	b.waitFor(t, "The run has ended.")
	b.waitUntil(t, `document.querySelector("progress") === null`)
}

// A reader follows a suite to its change, and from there to the runs before and after it and what their machines differ
// in.
func TestFollowASuiteToItsChange(t *testing.T) {
	a, ids := followed(t, 24, "nightly", 0.8, nil)
	b := openBrowser(t, served(t, Options{App: a}).URL)
	b.open(t, "/history")
	b.accessible(t)
	b.do(t, chromedp.Click(chromedp.CSS(`main a[href="/history/nightly"]`)))
	b.waitUntil(t, `document.querySelector("main canvas") !== null`)
	b.accessible(t)
	b.do(t, chromedp.Click(chromedp.CSS(`main a[href^="/compare?run="]`)))
	b.waitUntil(t, `location.pathname === "/compare" && document.querySelector("main h1") !== null`)
	b.waitFor(t, "6.12.9") // the kernel of the new level
	if at := b.at(t); !strings.Contains(at, ids[11]) || !strings.Contains(at, ids[12]) {
		t.Errorf("the change leads to %s", at)
	}
	b.do(t, chromedp.Click(chromedp.CSS(`main a[href^="/machines/difference"]`)))
	b.waitUntil(t, `location.pathname === "/machines/difference" && document.querySelector("main h1") !== null`)
	b.waitFor(t, "kernel.release")
	b.accessible(t)
}

// The points of a history are reached with the keyboard alone.
func TestPointsWithKeyboard(t *testing.T) {
	a, ids := followed(t, 24, "nightly", 0.8, nil)
	b := openBrowser(t, served(t, Options{App: a}).URL)
	b.open(t, "/history/nightly")
	b.waitUntil(t, `document.querySelector("main canvas") !== null`)
	b.tabTo(t, ".spot")
	b.do(t, chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter))
	b.waitUntil(t, `location.pathname.startsWith("/runs/") && document.querySelector("main h1") !== null`)
	if at := b.at(t); at != "/runs/"+ids[1] {
		t.Errorf("the second point leads to %s", at)
	}
}

func TestLookAtMachinesAndProfiles(t *testing.T) {
	a, all := saved(t, 2, func(i int, r *lab.Run) { r.Targets[0].Target = []string{"ssh://one", "ssh://two"}[i] })
	run := profiledRun(t, a, "RNS0000091", 1)
	b := openBrowser(t, served(t, Options{App: a}).URL)
	for _, path := range []string{"/machines", "/machines/" + all[0].ID, "/profiles/" + run.ID,
		"/machines/difference?run=" + all[0].ID + "&run=" + all[1].ID} {
		b.open(t, path)
		b.accessible(t)
	}
	b.open(t, "/profiles/"+run.ID)
	b.do(t, chromedp.SendKeys(chromedp.CSS(`.flame input[type="search"]`), "io_submit_one"))
	b.waitFor(t, "100%")
}
