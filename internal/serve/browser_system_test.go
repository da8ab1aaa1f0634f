//go:build system

package serve

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/browsertest"
	"github.com/headroom/headroom/internal/testing/summarytest"
)

// forAll is how long a browser may take for all that a reader does.
const forAll = 20 * time.Minute

// found returns a condition that holds on the loaded results of a search. The previous page can contain the same text.
func found(text string) string {
	return `document.readyState === "complete" && location.search.includes("q=` + text + `")`
}

// atARun is a condition that holds on the page of a run.
const atARun = `location.pathname.startsWith("/runs/") && document.querySelector("main h1") !== null`

// A reader finds a run, opens it, and compares two, with the mouse.
func TestBrowseRuns(t *testing.T) {
	a, all := saved(t, 12, nil)
	b := browsertest.Open(t, served(t, Options{App: a}).URL, forAll)
	b.Visit(t, "/")
	b.WaitFor(t, "12 runs")
	b.Accessible(t)
	b.Do(t, chromedp.SendKeys(chromedp.CSS(`input[name="q"]`), "rns0000007"+kb.Enter))
	b.WaitUntil(t, found("rns0000007"))
	b.WaitFor(t, "1 of 12 runs")
	b.Do(t, chromedp.Click(chromedp.CSS("tbody a")))
	b.WaitUntil(t, atARun)
	if at := b.At(t); at != "/runs/"+all[6].ID {
		t.Errorf("the link leads to %s", at)
	}
	b.Accessible(t)
	b.Visit(t, "/")
	for _, i := range []int{3, 5} {
		b.Do(t, chromedp.Click(chromedp.CSS(fmt.Sprintf(`input[value="%s"]`, all[i].ID))))
	}
	b.Do(t, chromedp.Click(chromedp.CSS("#compare button")))
	b.WaitUntil(t, `location.pathname === "/compare" && document.querySelector("main h1") !== null`)
	b.WaitFor(t, "run 4")
	if at := b.At(t); !strings.HasPrefix(at, "/compare?run=") || !strings.Contains(at, all[3].ID) ||
		!strings.Contains(at, all[5].ID) {
		t.Errorf("it is compared at %s", at)
	}
	b.Accessible(t)
	b.Visit(t, "/?q=none-such")
	b.Accessible(t)
}

// The same with the keyboard alone.
func TestBrowseWithKeyboard(t *testing.T) {
	a, all := saved(t, 3, nil)
	b := browsertest.Open(t, served(t, Options{App: a}).URL, forAll)
	b.Visit(t, "/")
	b.TabTo(t, ".skip")
	b.TabTo(t, `input[name="q"]`)
	b.Do(t, chromedp.KeyEvent("rns0000002"+kb.Enter))
	b.WaitUntil(t, found("rns0000002"))
	b.WaitFor(t, "1 of 3 runs")
	b.TabTo(t, `a[href="/runs/`+all[1].ID+`"]`)
	b.Do(t, chromedp.KeyEvent(kb.Enter))
	b.WaitUntil(t, atARun)
	if at := b.At(t); at != "/runs/"+all[1].ID {
		t.Errorf("Enter leads to %s", at)
	}
	b.Visit(t, "/")
	for _, i := range []int{2, 0} {
		b.TabTo(t, fmt.Sprintf(`input[value="%s"]`, all[i].ID))
		b.Do(t, chromedp.KeyEvent(" "))
	}
	b.Do(t, chromedp.KeyEvent(kb.Enter)) // submits the form of the box
	b.WaitUntil(t, `location.pathname === "/compare"`)
}

// The page of a run that goes on follows it until it ends, without being asked.
func TestWatchARun(t *testing.T) {
	a, run, w := goingOn(t)
	b := browsertest.Open(t, served(t, Options{App: a}).URL, forAll)
	b.Visit(t, "/runs/"+run.ID)
	b.WaitFor(t, "this page follows it")
	said := lab.Progress{At: time.Now(), Count: "3/8", Doing: "randwrite 4k q1", Elapsed: 6*3600 + 60,
		Left: 9*3600 + 1800}
	if err := w.Progress(said); err != nil {
		t.Fatal(err)
	}
	b.WaitFor(t, "3/8")
	b.WaitFor(t, said.Doing)
	b.WaitFor(t, "so far, about 9h") // for half an hour from now
	b.WaitUntil(t, `document.querySelector("progress").value > 0.37`)
	before := browsertest.Ask(t, b, chromedp.InnerHTML(chromedp.CSS("main h1")))
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
	b.WaitUntil(t, fmt.Sprintf(`document.querySelector("main h1").innerHTML !== %q`, before))
	b.Accessible(t)
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
	b.WaitFor(t, "The run has ended.")
	b.WaitUntil(t, `document.querySelector("progress") === null`)
}

// A reader follows a suite to its change, and from there to the runs before and after it and what their machines differ
// in.
func TestFollowASuiteToItsChange(t *testing.T) {
	a, ids := followed(t, 24, "nightly", 0.8, nil)
	b := browsertest.Open(t, served(t, Options{App: a}).URL, forAll)
	b.Visit(t, "/history")
	b.Accessible(t)
	b.Do(t, chromedp.Click(chromedp.CSS(`main a[href="/history/nightly"]`)))
	b.WaitUntil(t, `document.querySelector("main canvas") !== null`)
	b.Accessible(t)
	b.Do(t, chromedp.Click(chromedp.CSS(`main a[href^="/compare?run="]`)))
	b.WaitUntil(t, `location.pathname === "/compare" && document.querySelector("main h1") !== null`)
	b.WaitFor(t, "6.12.9") // the kernel of the new level
	if at := b.At(t); !strings.Contains(at, ids[11]) || !strings.Contains(at, ids[12]) {
		t.Errorf("the change leads to %s", at)
	}
	b.Do(t, chromedp.Click(chromedp.CSS(`main a[href^="/machines/difference"]`)))
	b.WaitUntil(t, `location.pathname === "/machines/difference" && document.querySelector("main h1") !== null`)
	b.WaitFor(t, "kernel.release")
	b.Accessible(t)
}

// The points of a history are reached with the keyboard alone.
func TestPointsWithKeyboard(t *testing.T) {
	a, ids := followed(t, 24, "nightly", 0.8, nil)
	b := browsertest.Open(t, served(t, Options{App: a}).URL, forAll)
	b.Visit(t, "/history/nightly")
	b.WaitUntil(t, `document.querySelector("main canvas") !== null`)
	b.TabTo(t, ".spot")
	b.Do(t, chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter))
	b.WaitUntil(t, atARun)
	if at := b.At(t); at != "/runs/"+ids[1] {
		t.Errorf("the second point leads to %s", at)
	}
}

func TestLookAtMachinesAndProfiles(t *testing.T) {
	a, all := saved(t, 2, func(i int, r *lab.Run) { r.Targets[0].Target = []string{"ssh://one", "ssh://two"}[i] })
	run := profiledRun(t, a, "RNS0000091", 1)
	b := browsertest.Open(t, served(t, Options{App: a}).URL, forAll)
	for _, path := range []string{"/machines", "/machines/" + all[0].ID, "/profiles/" + run.ID,
		"/machines/difference?run=" + all[0].ID + "&run=" + all[1].ID} {
		b.Visit(t, path)
		b.Accessible(t)
	}
	b.Visit(t, "/profiles/"+run.ID)
	b.Do(t, chromedp.SendKeys(chromedp.CSS(`.flame input[type="search"]`), "io_submit_one"))
	b.WaitFor(t, "100%")
}

// A reader looks closer at a load over its time, with the keyboard alone.
func TestLookCloser(t *testing.T) {
	a, all := saved(t, 1, nil)
	b := browsertest.Open(t, served(t, Options{App: a}).URL, forAll)
	b.Visit(t, "/runs/"+all[0].ID)
	b.TabTo(t, `figcaption a[href*="/cells/"]`)
	b.Do(t, chromedp.KeyEvent(kb.Enter))
	b.WaitUntil(t, `document.querySelector("main canvas") !== null`)
	b.Accessible(t)
	b.TabTo(t, "[role=slider]")
	const said = `document.activeElement.ariaValueText`
	first := browsertest.Ask(t, b, chromedp.Evaluate[string](said))
	b.Do(t, chromedp.KeyEvent(kb.ArrowRight))
	b.WaitUntil(t, fmt.Sprintf("%s !== %q && %s.includes(\" s: \")", said, first, said))
	second := browsertest.Ask(t, b, chromedp.Evaluate[string](said))
	b.Do(t, chromedp.KeyEvent(kb.End))
	b.WaitUntil(t, fmt.Sprintf("%s !== %q", said, second))
	last := browsertest.Ask(t, b, chromedp.Evaluate[string](said))
	b.Do(t, chromedp.KeyEvent("+"), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent("-"), chromedp.KeyEvent(kb.Escape))
	b.WaitUntil(t, fmt.Sprintf("%s === %q", said, first))
	if last == first {
		t.Errorf("the end is the beginning: %q", last)
	}
}
