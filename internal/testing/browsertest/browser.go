//go:build system

package browsertest

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
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
)

//go:embed axe-core/axe.min.js
var axe string

// Browser is a Chromium that shows pages of one server.
type Browser struct {
	context.Context
	address string

	mu sync.Mutex
	// wrong are errors in pages, and requests of pages to other hosts.
	wrong []string
}

// Open opens a browser with a time limit. An error in a page, or a request to anything but the server, fails the test.
func Open(t *testing.T, address string, limit time.Duration) *Browser {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("chromium is not installed: apt-get install chromium")
	}
	b := &Browser{address: address}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, limit)
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

func (b *Browser) hear(event any) {
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

// Do performs a reader's actions.
func (b *Browser) Do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b, actions...); err != nil {
		t.Fatal(err)
	}
}

// Ask returns the result of an action.
func Ask[V any](t *testing.T, b *Browser, action chromedp.Action[V]) V {
	t.Helper()
	v, err := chromedp.Run(b, action)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Load opens a page by its path, and waits until it is loaded.
func (b *Browser) Load(t *testing.T, path string) {
	t.Helper()
	b.Do(t, chromedp.Navigate(b.address+path))
}

// Visit opens a page of the server by its path.
func (b *Browser) Visit(t *testing.T, path string) {
	t.Helper()
	b.Load(t, path)
	b.Do(t, chromedp.WaitReady(chromedp.CSS("#content")))
}

// Emulate sets the size of the window in pixels, and whether the reader prefers dark pages.
func (b *Browser) Emulate(t *testing.T, width, height int64, dark bool) {
	t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	if _, err := chromedp.Call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		t.Fatal(err)
	}
	b.Do(t, chromedp.EmulateViewport(width, height))
}

// WaitFor waits until a page has a text.
func (b *Browser) WaitFor(t *testing.T, text string) {
	t.Helper()
	b.WaitUntil(t, fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// WaitUntil waits until a condition is true, even in a page that is not loaded yet.
func (b *Browser) WaitUntil(t *testing.T, condition string) {
	t.Helper()
	for b.Err() == nil {
		if there, err := chromedp.Run(b, chromedp.Evaluate[bool](condition)); err == nil && there {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("it never reached %s", condition)
}

// At returns the current path, with its parameters.
func (b *Browser) At(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(Ask(t, b, chromedp.Location()))
	if err != nil {
		t.Fatal(err)
	}
	return u.RequestURI()
}

// TabTo presses Tab until the element of a selector has the focus.
func (b *Browser) TabTo(t *testing.T, selector string) {
	t.Helper()
	const most = 400
	for range most {
		b.Do(t, chromedp.KeyEvent(kb.Tab))
		if Ask(t, b, chromedp.Evaluate[bool](fmt.Sprintf("document.activeElement.matches(%q)", selector))) {
			return
		}
	}
	t.Fatalf("Tab does not lead to %s", selector)
}

// Accessible lets axe-core look for serious faults of the page, light and dark, wide and narrow.
func (b *Browser) Accessible(t *testing.T) {
	t.Helper()
	for _, dark := range []bool{false, true} {
		for _, width := range []int64{1280, 400} {
			b.Emulate(t, width, 900, dark)
			b.Do(t, chromedp.Evaluate[chromedp.Void](axe))
			faults := Ask(t, b, chromedp.Evaluate[[]string](`axe.run().then((r) => r.violations
				.filter((v) => v.impact === "serious" || v.impact === "critical")
				.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.target + " " + n.failureSummary).join("; ")))`,
				chromedp.EvalAwaitPromise))
			wide := Ask(t, b, chromedp.Evaluate[bool](
				"document.documentElement.scrollWidth > document.documentElement.clientWidth"))
			for _, fault := range faults {
				t.Errorf("%s, dark %t, %d wide: %s", b.At(t), dark, width, fault)
			}
			if wide {
				t.Errorf("%s is wider than %d", b.At(t), width)
			}
		}
	}
	b.Do(t, chromedp.EmulateViewport(1280, 900))
}
