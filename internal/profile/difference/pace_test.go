package difference

import (
	"bufio"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/testing/figure"
)

// recordedCall is a recorded function, with how often it is called for one piece of work.
type recordedCall struct {
	name, module string
	context      profile.Context
	calls        float64
}

// recordedCalls returns two kinds of work that were recorded in one guest (see the file): the calls for each read, and
// the calls in softirq for each packet of headroom's connection to the guest.
func recordedCalls(t *testing.T) (reads, packets []recordedCall) {
	t.Helper()
	f, err := os.Open("testdata/recorded.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const function, module, context, quiet, other = 0, 1, 2, 3, 7 // columns: a guest without packets, one with some
	var done, received float64
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Split(s.Text(), "\t")
		if strings.HasPrefix(s.Text(), "#") || len(fields) <= other || fields[function] == "function" ||
			fields[function] == "seconds" {
			continue
		}
		one := recordedCall{fields[function], fields[module], profile.Context(fields[context]), 0}
		in := func(column int) float64 { n, _ := strconv.ParseFloat(fields[column], 64); return n }
		switch {
		case in(quiet) > 0:
			one.calls = in(quiet)
			reads = append(reads, one)
		case one.context == profile.InSoftirq && in(other) > 0:
			one.calls = in(other)
			packets = append(packets, one)
		}
		switch {
		case one.name == "aio_read":
			done = one.calls
		case one.name == "tcp_v4_rcv" && one.context == profile.InSoftirq:
			received = one.calls
		}
	}
	for i := range reads {
		reads[i].calls /= done
	}
	for i := range packets {
		packets[i].calls /= received
	}
	if len(reads) < 500 || len(packets) < 50 {
		t.Fatalf("%d functions of reads, %d of packets", len(reads), len(packets))
	}
	return reads, packets
}

// writeback returns the calls of a kworker for each page that another program writes to a file of ext4.
func writeback() []recordedCall {
	var calls []recordedCall
	for _, name := range strings.Fields("wb_workfn wb_do_writeback wb_writeback __writeback_inodes_wb " +
		"writeback_sb_inodes __writeback_single_inode do_writepages ext4_writepages ext4_do_writepages " +
		"mpage_prepare_extent_to_map mpage_process_page_bufs mpage_submit_page ext4_bio_write_page ext4_map_blocks " +
		"ext4_es_lookup_extent ext4_io_submit ext4_init_io_end ext4_put_io_end ext4_journal_start_sb jbd2_journal_start " +
		"jbd2_journal_stop submit_bio submit_bio_noacct blk_mq_submit_bio dma_map_page_attrs iommu_dma_map_page " +
		"folio_clear_dirty_for_io __folio_start_writeback clean_bdev_aliases") {
		calls = append(calls, recordedCall{name, "", profile.InWorker, 1})
	}
	return calls
}

// side is a machine that does this many I/Os a second, and also background work that is independent of them.
type side struct {
	reads   float64
	others  []recordedCall
	pace    float64 // pieces of that work a second
	planted []recordedCall
}

// profiled returns n loads on a side: 0.6 s traced in 12 bursts. Work for an I/O scatters little, and pieces of other
// work come at random times, with all their calls.
func (s side) profiled(t *testing.T, r *rand.Rand, n int, reads []recordedCall) cost.Profile {
	const seconds, bursts = 0.6, 12
	var loads []profile.Load
	for i := range n {
		rate := s.reads * math.Exp(0.05*r.NormFloat64())
		traced := &profile.Traced{Seconds: seconds, Bursts: bursts, Functions: true}
		var others []float64
		for range bursts {
			others = append(others, scattered(r, s.pace*seconds/bursts, 2))
		}
		counts := map[[2]string][]uint64{}
		modules := map[string]string{}
		add := func(c recordedCall, count func(burst int) float64) {
			key := [2]string{c.name, string(c.context)}
			if counts[key] == nil {
				counts[key] = make([]uint64, bursts)
			}
			for b := range bursts {
				counts[key][b] += uint64(math.Round(count(b)))
			}
			if c.module != "" {
				modules[c.name] = c.module
			}
		}
		for _, c := range slices.Concat(reads, s.planted) {
			over := 1 + 4*r.Float64()
			if c.calls > 0.95 && math.Abs(c.calls-math.Round(c.calls)) < 0.03 {
				over = 1.01
			}
			add(c, func(int) float64 {
				if c.name == "aio_read" {
					return rate * seconds / bursts
				}
				return scattered(r, c.calls*rate*seconds/bursts, over)
			})
		}
		for _, c := range s.others {
			add(c, func(burst int) float64 {
				return distuv.Poisson{Lambda: max(c.calls*others[burst], 1e-9), Src: r}.Rand()
			})
		}
		for key, of := range counts {
			one := profile.CallCount{Function: key[0], Context: profile.Context(key[1]), Bursts: of}
			for _, c := range of {
				one.Count += c
			}
			traced.Calls = append(traced.Calls, one)
		}
		loads = append(loads, profile.Load{Cell: "randread", Number: i + 1, Part: profile.Calls,
			Recording: profile.Recording{Kernel: "6.1.0-56-amd64", Modules: modules, Traced: traced}})
	}
	return profileOf(t, loads...)
}

// TestOwnPace checks that work that interrupts and kworkers do equally often per second on both sides is never
// reported, however many I/Os there are, and that the additional work of a setting is still found.
func TestOwnPace(t *testing.T) {
	reads, packets := recordedCalls(t)
	strict := []recordedCall{{"qi_submit_sync", "", profile.InHardirq, 1},
		{"intel_iommu_tlb_sync", "", profile.InHardirq, 1}}
	split := []recordedCall{{"bio_split", "", profile.InLoad, 1}, {"bio_split_rw", "", profile.InLoad, 1}}
	for _, c := range []struct {
		name string
		a, b side
		// the layer that must come first; empty if nothing differs.
		layer string
	}{
		{"equal", side{reads: 3000}, side{reads: 1000}, ""},
		{"writeback", side{3000, writeback(), 300, nil}, side{1000, writeback(), 300, nil}, ""},
		{"writeback-more", side{1500, writeback(), 300, nil}, side{1000, writeback(), 300, nil}, ""},
		{"packets", side{9000, packets, 2000, nil}, side{3000, packets, 2000, nil}, ""},
		{"packets-faster", side{3000, packets, 2000, nil}, side{9000, packets, 2000, nil}, ""},
		{"strict-writeback", side{3000, writeback(), 300, nil}, side{1000, writeback(), 300, strict}, "dma"},
		{"strict-packets", side{9000, packets, 2000, nil}, side{3000, packets, 2000, strict}, "dma"},
		{"split", side{3000, nil, 0, nil}, side{1000, nil, 0, split}, "block"},
	} {
		for _, loads := range []int{2, 5} {
			r := rand.New(rand.NewPCG(7, uint64(loads)))
			wrong, functions := 0, 0
			runs := figure.Times(1, 20)
			for range runs {
				cell := compared(t, c.a.profiled(t, r, loads, reads), c.b.profiled(t, r, loads, reads))
				switch {
				case c.layer == "" && len(cell.Functions)+len(cell.Layers) > 0,
					c.layer != "" && (len(cell.Layers) == 0 || cell.Layers[0].ID != c.layer):
					wrong++
					functions += len(cell.Functions)
					if !figure.Whole {
						t.Errorf("%s, %d loads:\n%s", c.name, loads, told(cell))
					}
				}
			}
			figure.Record(t, figure.Share(figure.Name("profile/pace", c.name, loads), wrong, runs, figure.Lower).
				Saying("pairs of profiles of %d loads a side that name a wrong cause: %s", loads, c.name))
			if float64(wrong) > 0.05*float64(runs) {
				t.Errorf("%s, %d loads: %d of %d wrong, %d functions", c.name, loads, wrong, runs, functions)
			}
		}
	}
}
