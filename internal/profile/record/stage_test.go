package record_test

import (
	"archive/zip"
	"io/fs"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/record"
)

func TestStagesOfRequests(t *testing.T) {
	f, _ := formats(t)
	for name, c := range map[string]struct{ events, want string }{
		"issued at once, to the driver": {`
			10 bio_queue 7,0 R 100 + 8
			15 rq_issue 7,0 R 100 + 8
			35 rq_complete 7,0 R 100 + 8`,
			"7:0 read 4096 n=1 above=5 scheduler= device=20\n"},
		"by way of the scheduler": {`
			10 bio_queue 7,0 WS 100 + 9
			15 rq_insert 7,0 WS 100 + 9
			45 rq_issue 7,0 WS 100 + 9
			55 rq_complete 7,0 WS 100 + 9`,
			"7:0 write 8192 n=1 above=5 scheduler=30 device=10\n"},
		"merged to the back, before and after its insertion": {`
			10 bio_queue 7,0 W 100 + 8
			11 bio_queue 7,0 W 108 + 8
			12 bio_backmerge 7,0 W 108 + 8
			20 rq_insert 7,0 W 100 + 16
			21 bio_queue 7,0 W 116 + 8
			22 bio_backmerge 7,0 W 116 + 8
			40 rq_issue 7,0 W 100 + 24
			50 rq_complete 7,0 W 100 + 24`,
			"7:0 write 16384 n=1 above=10 scheduler=20 device=10\nmerged 2\n"},
		"merged to the front": {`
			10 bio_queue 7,0 W 100 + 8
			12 rq_insert 7,0 W 100 + 8
			20 bio_queue 7,0 W 92 + 8
			21 bio_frontmerge 7,0 W 92 + 8
			40 rq_issue 7,0 W 92 + 16
			50 rq_complete 7,0 W 92 + 16`,
			"7:0 write 8192 n=1 above=2 scheduler=28 device=10\nmerged 1\n"},
		"requests merged, when a bio filled the hole": {`
			10 bio_queue 7,0 W 100 + 8
			12 rq_insert 7,0 W 100 + 8
			20 bio_queue 7,0 W 116 + 8
			22 rq_insert 7,0 W 116 + 8
			30 bio_queue 7,0 W 108 + 8
			31 bio_backmerge 7,0 W 108 + 8
			32 rq_merge 7,0 W 116 + 8
			40 rq_issue 7,0 W 100 + 24
			50 rq_complete 7,0 W 100 + 24`,
			"7:0 write 16384 n=1 above=2 scheduler=28 device=10\nmerged 2\n"},
		"split in three, the last of which waits": {`
			10 bio_queue 7,0 R 100 + 24
			11 split 7,0 R 100 / 108
			12 rq_issue 7,0 R 100 + 8
			13 split 7,0 R 108 / 116
			14 rq_issue 7,0 R 108 + 8
			30 rq_issue 7,0 R 116 + 8
			40 rq_complete 7,0 R 108 + 8
			41 rq_complete 7,0 R 100 + 8
			42 rq_complete 7,0 R 116 + 8`,
			"7:0 read 4096 n=3 above=2,4,20 scheduler= device=12,26,29\nsplit 2\n"},
		"handed back by the driver": {`
			10 bio_queue 7,0 R 100 + 8
			15 rq_issue 7,0 R 100 + 8
			16 rq_requeue 7,0 R 100 + 8
			20 rq_insert 7,0 R 100 + 8
			30 rq_issue 7,0 R 100 + 8
			50 rq_complete 7,0 R 100 + 8`,
			"7:0 read 4096 n=1 above=10 scheduler=10 device=20\nrequeued 1\n"},
		"handed back by the driver to the scheduler": {`
			10 bio_queue 7,0 R 100 + 8
			15 rq_insert 7,0 R 100 + 8
			20 rq_issue 7,0 R 100 + 8
			21 rq_requeue 7,0 R 100 + 8
			25 rq_insert 7,0 R 100 + 8
			30 rq_issue 7,0 R 100 + 8
			50 rq_complete 7,0 R 100 + 8`,
			"7:0 read 4096 n=1 above=5 scheduler=15 device=20\nrequeued 1\n"},
		"completed in parts": {`
			10 bio_queue 7,0 R 100 + 24
			15 rq_issue 7,0 R 100 + 24
			20 rq_complete 7,0 R 100 + 8
			30 rq_complete 7,0 R 108 + 8
			45 rq_complete 7,0 R 116 + 8`,
			"7:0 read 16384 n=1 above=5 scheduler= device=30\n"},
		"two of the same sectors, and a write of them": {`
			10 bio_queue 7,0 R 100 + 8
			11 bio_queue 7,0 W 100 + 8
			12 bio_queue 7,0 R 100 + 8
			20 rq_issue 7,0 R 100 + 8
			21 rq_issue 7,0 W 100 + 8
			25 rq_issue 7,0 R 100 + 8
			30 rq_complete 7,0 R 100 + 8
			40 rq_complete 7,0 W 100 + 8
			50 rq_complete 7,0 R 100 + 8`,
			"7:0 read 4096 n=2 above=10,13 scheduler= device=10,25\n" +
				"7:0 write 4096 n=1 above=10 scheduler= device=19\n"},
		"trimmed, with a secure erasure": {`
			10 bio_queue 7,0 D 0 + 2048
			11 rq_issue 7,0 D 0 + 2048
			20 rq_complete 7,0 D 0 + 2048
			30 bio_queue 7,0 DE 0 + 1
			31 rq_issue 7,0 DE 0 + 1
			40 rq_complete 7,0 DE 0 + 1`,
			"7:0 trim 512 n=1 above=1 scheduler= device=9\n7:0 trim 1048576 n=1 above=1 scheduler= device=9\n"},
		"one flush for three that wait, of which one writes": {`
			10 bio_queue 7,0 FWS 0 + 0
			12 bio_queue 7,0 FWS 0 + 0
			13 bio_queue 7,0 FWFS 100 + 8
			20 rq_issue 7,0 FF 0 + 0
			30 rq_complete 7,0 FF 18446744073709551615 + 0
			31 rq_complete 7,0 WS 0 + 0
			32 rq_issue 7,0 WFS 100 + 8
			40 rq_complete 7,0 WFS 100 + 8
			41 rq_complete 7,0 WFS 100 + 0
			50 bio_queue 7,0 FWS 0 + 0
			53 rq_issue 7,0 FF 0 + 0
			60 rq_complete 7,0 FF 18446744073709551615 + 0`,
			"7:0 flush 0 n=2 above=3,10 scheduler= device=7,10\n" +
				"7:0 write 4096 n=1 above=19 scheduler= device=8\n"},
		"commands that are no reads or writes, and other devices": {`
			10 rq_issue 7,0 N 0 + 0
			11 rq_complete 7,0 N 0 + 0
			12 bio_queue 7,1 R 100 + 8
			13 rq_issue 7,1 R 100 + 8
			14 rq_complete 7,1 R 100 + 8
			15 rq_issue 7,0 ZA 100 + 8
			16 rq_complete 7,0 ZA 100 + 8`, ""},
		"in flight when tracing begins and ends": {`
			10 rq_complete 7,0 R 100 + 8
			11 rq_issue 7,0 R 200 + 8
			12 bio_queue 7,0 R 300 + 8
			13 rq_issue 7,0 R 300 + 8
			20 rq_complete 7,0 R 200 + 8
			21 rq_complete 7,0 R 300 + 8
			22 bio_queue 7,0 R 400 + 8
			23 rq_issue 7,0 R 400 + 8`,
			"7:0 read 4096 n=1 above=1 scheduler= device=8\n"},
		"whose bios are announced elsewhere, as below a multipath of dm": {`
			11 rq_issue 7,0 R 200 + 8
			20 rq_complete 7,0 R 200 + 8`,
			"7:0 read 4096 n=1 above= scheduler= device=9\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := printedStages(accumulate(t, f, c.events, "7:0")); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// Requests that lost an event are in no group, and unrelated events are not combined.
func TestLostEvents(t *testing.T) {
	f, _ := formats(t)
	for name, c := range map[string]struct {
		events, want string
		lost         uint64
	}{
		"its issue and its completion": {`
			10 bio_queue 7,0 R 100 + 8
			12 bio_queue 7,0 R 200 + 8
			13 rq_issue 7,0 R 200 + 8
			14 rq_complete 7,0 R 200 + 8
			lost 5
			80 bio_queue 7,0 R 100 + 8
			85 rq_issue 7,0 R 100 + 8
			95 rq_complete 7,0 R 100 + 8`,
			"7:0 read 4096 n=2 above=1,5 scheduler= device=1,10\n", 5},
		"its bio": {`
			12 bio_queue 7,0 R 200 + 8
			13 rq_issue 7,0 R 200 + 8
			14 rq_complete 7,0 R 200 + 8
			20 bio_queue 7,0 R 100 + 8
			lost 1
			80 rq_issue 7,0 R 100 + 8
			95 rq_complete 7,0 R 100 + 8`,
			"7:0 read 4096 n=1 above=1 scheduler= device=1\n", 1},
		"while another CPU lost some": {`
			10 bio_queue 7,0 R 100 + 8
			11 rq_issue 7,0 R 100 + 8
			gap
			20 bio_queue 7,0 R 300 + 8
			gap
			21 bio_queue 7,0 R 100 + 8
			lost 7
			30 rq_complete 7,0 R 100 + 8
			31 rq_complete 7,0 R 300 + 8
			41 bio_queue 7,0 R 100 + 8
			43 rq_issue 7,0 R 100 + 8
			50 rq_complete 7,0 R 100 + 8`,
			"7:0 read 4096 n=1 above=2 scheduler= device=7\n", 7},
	} {
		t.Run(name, func(t *testing.T) {
			s := accumulate(t, f, c.events, "7:0")
			if got := printedStages(s); got != c.want || s.Lost != c.lost {
				t.Errorf("lost %d, got\n%swant %d\n%s", s.Lost, got, c.lost, c.want)
			}
		})
	}
}

// Stacked devices: each has separate stages.
func TestStackedDevices(t *testing.T) {
	f, _ := formats(t)
	for name, c := range map[string]struct {
		devices      []string
		events, want string
	}{
		"dm, whose bios are queued anew below": {[]string{"253:0", "8:0"}, `
			10 bio_queue 253,0 R 100 + 8
			11 bio_remap 8,0 R 1100 + 8 <- (253,0) 100
			12 bio_queue 8,0 R 1100 + 8
			15 rq_issue 8,0 R 1100 + 8
			35 rq_complete 8,0 R 1100 + 8
			36 bio_complete 253,0 R 100 + 8`,
			"253:0 read 4096 n=1 above= scheduler= device=26\n8:0 read 4096 n=1 above=4 scheduler= device=20\n"},
		"dm that cuts its bio, and tells of the rest": {[]string{"253:0"}, `
			10 bio_queue 253,0 W 100 + 16
			11 bio_remap 8,0 W 1100 + 8 <- (253,0) 100
			12 split 253,0 W 108 / 108
			13 bio_queue 8,0 W 1100 + 8
			15 bio_remap 8,0 W 2000 + 8 <- (253,0) 108
			16 bio_queue 8,0 W 2000 + 8
			20 rq_issue 8,0 W 1100 + 8
			21 rq_issue 8,0 W 2000 + 8
			30 rq_complete 8,0 W 1100 + 8
			40 bio_complete 253,0 W 108 + 8`,
			"253:0 write 8192 n=1 above= scheduler= device=30\n"},
		"a partition": {[]string{"8:0"}, `
			9 bio_remap 8,0 R 1100 + 8 <- (8,1) 100
			10 bio_queue 8,0 R 1100 + 8
			15 rq_issue 8,0 R 1100 + 8
			35 rq_complete 8,0 R 1100 + 8
			40 bio_remap 8,0 R 1100 + 8 <- (8,1) 100
			41 bio_queue 8,0 R 1100 + 8
			43 rq_issue 8,0 R 1100 + 8
			45 rq_complete 8,0 R 1100 + 8`,
			"8:0 read 4096 n=2 above=3,6 scheduler= device=2,20\n"},
		"dm on a partition": {[]string{"8:0"}, `
			8 bio_remap 8,0 R 100 + 8 <- (253,0) 50
			9 bio_remap 8,0 R 1100 + 8 <- (8,1) 100
			10 bio_queue 8,0 R 1100 + 8
			15 rq_issue 8,0 R 1100 + 8
			35 rq_complete 8,0 R 1100 + 8
			40 bio_queue 8,0 R 100 + 8
			43 rq_issue 8,0 R 100 + 8
			45 rq_complete 8,0 R 100 + 8`,
			"8:0 read 4096 n=2 above=3,7 scheduler= device=2,20\n"},
		"a path of NVMe, which nobody asks for by its number": {[]string{"259:0"}, `
			10 bio_queue 259,0 R 100 + 8
			11 bio_remap 259,1 R 100 + 8 <- (259,0) 100
			15 rq_issue 259,1 R 100 + 8
			35 rq_complete 259,1 R 100 + 8
			40 bio_queue 259,0 W 100 + 8
			41 bio_remap 259,1 W 100 + 8 <- (259,0) 100
			43 rq_insert 259,1 W 100 + 8
			45 rq_issue 259,1 W 100 + 8
			50 rq_complete 259,1 W 100 + 8`,
			"259:0 read 4096 n=1 above=5 scheduler= device=20\n" +
				"259:0 write 4096 n=1 above=3 scheduler=2 device=5\n"},
		"md, which hands its bios on, and both are asked for": {[]string{"9:0", "8:0"}, `
			10 bio_queue 9,0 R 100 + 8
			11 bio_remap 8,0 R 1100 + 8 <- (9,0) 100
			15 rq_issue 8,0 R 1100 + 8
			35 rq_complete 8,0 R 1100 + 8`,
			"8:0 read 4096 n=1 above=4 scheduler= device=20\n"},
		"other requests of the device below dm": {[]string{"253:0"}, `
			10 bio_queue 253,0 R 100 + 8
			11 bio_remap 8,0 R 1100 + 8 <- (253,0) 100
			12 rq_issue 8,0 R 500 + 8
			13 bio_queue 8,0 R 1100 + 8
			15 rq_issue 8,0 R 1100 + 8
			35 rq_complete 8,0 R 1100 + 8
			36 bio_complete 253,0 R 100 + 8`,
			"253:0 read 4096 n=1 above= scheduler= device=26\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := printedStages(accumulate(t, f, c.events, c.devices...)); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// The depth is weighted by time, from the first request on that was seen from its start to its end.
func TestDepth(t *testing.T) {
	f, _ := formats(t)
	s := accumulate(t, f, `
		1000000000 rq_issue 7,0 R 0 + 8
		1500000000 rq_issue 7,0 R 8 + 8
		2000000000 rq_complete 7,0 R 0 + 8
		4000000000 rq_complete 7,0 R 8 + 8
		4500000000 rq_issue 7,0 R 0 + 8
		4500000000 rq_issue 7,0 R 8 + 8
		4750000000 rq_requeue 7,0 R 8 + 8
		8000000000 rq_issue 7,0 R 8 + 8
		9000000000 bio_queue 7,0 R 8 + 8
		10000000000 bio_queue 253,0 W 0 + 8
		10000000000 bio_queue 253,0 W 8 + 8
		12000000000 bio_complete 253,0 W 8 + 8
		15000000000 bio_complete 253,0 W 0 + 8
		16000000000 bio_queue 253,0 W 0 + 8
		gap
		17000000000 bio_queue 253,0 W 8 + 8`, "7:0", "253:0")
	for device, want := range map[string][]float64{
		// 2 s to 4 s: 1. Then none for 0.5 s, 2 for 0.25 s, 1 until the reissue at 8 s, 2 until the gap: 16 s.
		"7:0": {0.5, 5.25, 8.25}, "253:0": {1, 3}} {
		got := s.Depth[device]
		if len(got) != len(want) {
			t.Fatalf("%s: %v, want %v", device, got, want)
		}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-9 {
				t.Errorf("%s: %v, want %v", device, got, want)
			}
		}
	}
}

// Bins are at most 1/64 wide, with their values in the middle.
func TestBinsAreNarrow(t *testing.T) {
	f, _ := formats(t)
	for _, ns := range []string{"0", "1", "127", "128", "129", "1000", "123456789", "98765432109876"} {
		s := accumulate(t, f, "1 rq_issue 7,0 R 0 + 8\n1"+ns+" rq_complete 7,0 R 0 + 8", "7:0")
		h := s.Groups[0].InDevice
		var took float64
		for _, digit := range "1" + ns {
			took = took*10 + float64(digit-'0')
		}
		took--
		if len(h.Nanoseconds) != 1 || math.Abs(float64(h.Nanoseconds[0])-took) > took/128 {
			t.Errorf("%.0f ns count as %v", took, h.Nanoseconds)
		}
	}
}

// Requests of a recorded trace, compared with values computed by hand from the kernel's text of it.
func TestRecordedRequests(t *testing.T) {
	f, archive := formats(t)
	text, err := fs.ReadFile(archive, "trace.txt")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[int][]byte{}
	for cpu, name := range []string{"cpu0.raw", "cpu1.raw"} {
		if pages[cpu], err = fs.ReadFile(archive, name); err != nil {
			t.Fatal(err)
		}
	}
	all, err := record.NewStageAccumulator(f, []string{"7:0", "254:0"})
	if err != nil {
		t.Fatal(err)
	}
	few, err := record.NewStageAccumulator(f, []string{"7:0", "254:0"})
	if err != nil {
		t.Fatal(err)
	}
	complete, _ := f.Event("block:block_rq_complete")
	sector, _ := complete.Field("sector")
	for event := range f.Layout.Merge(pages).Events {
		all.Add(event)
		if n := sector.Uint(event.Data); n == 7904 || n == 442113760 {
			few.Add(event)
		}
	}
	for _, g := range all.Result(1).Groups {
		major, _, _ := strings.Cut(g.Device, ":")
		letter := map[string]string{lab.Read: "R", lab.Write: "W"}[g.Direction]
		printed := regexp.MustCompile(`rq_complete: `+major+`,0 `+letter).FindAllIndex(text, -1)
		if int(g.Count) != len(printed) || g.Bytes != 8192 {
			t.Errorf("%s %s: %d of %d bytes, the kernel printed %d", g.Device, g.Direction, g.Count,
				g.Bytes, len(printed))
		}
	}
	// 7:0: bio at …006 µs, issued …017, completed …908. 254:0: bio …641, inserted …648, issued …652, completed …868.
	got := few.Result(1).Groups
	if len(got) != 2 {
		t.Fatalf("%d groups: %+v", len(got), got)
	}
	near(t, "above", got[0].Above, 11)
	near(t, "in the device", got[0].InDevice, 891)
	if len(got[0].Scheduler.Counts) != 0 {
		t.Errorf("a scheduler that is not there: %+v", got[0].Scheduler)
	}
	near(t, "above", got[1].Above, 7)
	near(t, "scheduler", got[1].Scheduler, 4)
	near(t, "in the device", got[1].InDevice, 216)
}

// near requires one time of this many microseconds, within the rounding of the text and the width of the bin.
func near(t *testing.T, what string, h lab.Histogram, micros float64) {
	t.Helper()
	if len(h.Nanoseconds) != 1 || math.Abs(float64(h.Nanoseconds[0])-1000*micros) > 1000+1000*micros/64 {
		t.Errorf("%s: %+v, want %g µs", what, h, micros)
	}
}

func TestWhatIsMissing(t *testing.T) {
	f, archive := formats(t)
	for _, device := range []string{"", "7", "a:b", "7:0:0", "9999:0", "7:-1"} {
		if _, err := record.NewStageAccumulator(f, []string{device}); err == nil {
			t.Errorf("%q: no error", device)
		}
	}
	without, err := record.ReadEventFormats(archive, "block:block_rq_issue")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := record.NewStageAccumulator(without, []string{"7:0"}); err == nil ||
		!strings.Contains(err.Error(), "block_rq_complete") {
		t.Errorf("without completions: %v", err)
	}
	needed, err := record.ReadEventFormats(archive, record.RequiredStageEvents()...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := record.NewStageAccumulator(needed, []string{"7:0"}); err != nil {
		t.Errorf("with what is required: %v", err)
	}
}

// A multipath NVMe device completes its requests under the number of a path, which no file of the machine names. The
// trace is from a guest whose fio made 200 requests of 4 KiB.
func TestRecordedPathOfNVMe(t *testing.T) {
	archive, err := zip.OpenReader("testdata/requests/linux-6.1-nvme-multipath.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	f, err := record.ReadEventFormats(archive, record.StageEvents()...)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := fs.ReadFile(archive, "cpu1.raw")
	if err != nil {
		t.Fatal(err)
	}
	a, err := record.NewStageAccumulator(f, []string{"259:1"})
	if err != nil {
		t.Fatal(err)
	}
	for event := range f.Layout.Merge(map[int][]byte{1: raw}).Events {
		a.Add(event)
	}
	var count uint64
	for _, g := range a.Result(1).Groups {
		count += g.Count
		var above uint64
		for _, n := range g.Above.Counts {
			above += n
		}
		if g.Device != "259:1" || g.Bytes != 4096 || above != g.Count {
			t.Errorf("%s, %d bytes, %d requests, of which %d were bios", g.Device, g.Bytes, g.Count, above)
		}
	}
	if count != 200 {
		t.Errorf("%d requests of 200", count)
	}
}
