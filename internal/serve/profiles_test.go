package serve

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/summarytest"
)

// profiledRun saves a run with two profiled loads, in which the IOMMU's queue is waited for so often per hundred I/Os.
func profiledRun(t testing.TB, a *app.App, id string, waits uint64) lab.Run {
	t.Helper()
	run, _ := summarytest.Run(t, "measured")
	run.ID, run.Label = id, "profiled"
	w, err := store.Open(a.StoreDir).Create(run)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 2; n++ {
		traced := &profile.Traced{Seconds: 0.6, Bursts: 8, Functions: true}
		for name, per100 := range map[string]uint64{"aio_read": 100, "nvme_queue_rq": 100, "qi_submit_sync": waits} {
			if per100 > 0 {
				traced.Calls = append(traced.Calls, profile.CallCount{Function: name, Context: profile.InLoad,
					Count: 10 * per100})
			}
		}
		sampled := &profile.Sampled{Event: "cpu-clock", Hz: 199, Seconds: 4, Samples: 100, Stacks: []profile.Stack{
			{Context: profile.InLoad, Count: 100, Frames: []string{"aio_read", "io_submit_one"}}}}
		for _, l := range []profile.Load{
			{Part: profile.Calls, Recording: profile.Recording{Traced: traced}},
			{Part: profile.Time, Recording: profile.Recording{Sampled: sampled}},
		} {
			l.Cell, l.Number, l.Kernel, l.CPUs = run.Cells[0].ID, n, "6.1.0", 2
			l.Values = map[string]float64{"read.iops": 1000}
			if err := w.Profile(l); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Commit(), w.Close(func(*lab.Run) {})); err != nil {
		t.Fatal(err)
	}
	return run
}

// Profiles of a run, and of two, are led to from its page.
func TestProfiles(t *testing.T) {
	a, all := saved(t, 1, nil)
	one, two := profiledRun(t, a, "RNS0000091", 1), profiledRun(t, a, "RNS0000092", 100)
	at := served(t, Options{App: a})
	if body := pageOf(t, at, "/runs/"+one.ID); !strings.Contains(body, `href="/profiles/`+one.ID+`"`) {
		t.Error("no link to the profile")
	}
	body := pageOf(t, at, "/profiles/"+one.ID)
	if !strings.Contains(body, `<figure class="flame"`) || !strings.Contains(body, "nvme_queue_rq") {
		t.Error("no flame graph, or no function")
	}
	difference := "/profiles/difference?run=" + one.ID + "&amp;run=" + two.ID
	if body := pageOf(t, at, "/compare?run="+one.ID+"&run="+two.ID); !strings.Contains(body, difference) {
		t.Error("no link to what I/Os cost on either side")
	}
	body = pageOf(t, at, strings.ReplaceAll(difference, "&amp;", "&"))
	if !strings.Contains(body, "qi_submit_sync") {
		t.Error("the difference does not name the function")
	}
	for path, status := range map[string]int{"/profiles/" + all[0].ID: 404, "/profiles/ZZZZZZZZZZ": 404,
		"/profiles/difference": 400, "/profiles/difference?run=ZZZZZZZZZZ": 404,
		"/profiles/difference?run=" + one.ID: 400, "/api/v1/runs/" + all[0].ID + "/profile": 404} {
		if got, text := answer(t, at, http.MethodGet, path); got.StatusCode != status {
			t.Errorf("%s: %s\n%s", path, got.Status, text)
		}
	}
}
