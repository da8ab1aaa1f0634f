package difference

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/testing/figure"
)

// dropping returns n profiled loads that drop their file from the page cache at each pass, all pages in one go. A burst
// contains such a moment or not; only the counts of bursts show that.
func dropping(r *rand.Rand, n int, drops float64, told bool) []profile.Load {
	const bursts, writes, pages, functions = 8, 40, 200, 20
	var loads []profile.Load
	for i := range n {
		t := &profile.Traced{Seconds: 0.6, Bursts: bursts, Functions: true}
		add := func(name string, count func() uint64) {
			c := profile.CallCount{Function: name, Context: profile.InLoad}
			for range bursts {
				c.Bursts = append(c.Bursts, count())
				c.Count += c.Bursts[len(c.Bursts)-1]
			}
			if !told {
				c.Bursts = nil
			}
			t.Calls = append(t.Calls, c)
		}
		steady := func(over float64) func() uint64 {
			return func() uint64 { return uint64(scattered(r, writes, over)) }
		}
		add("vfs_write", func() uint64 { return writes })
		for f := range functions {
			add(fmt.Sprintf("blk_steady_%d", f), func() uint64 { return writes })
			add(fmt.Sprintf("blk_uneven_%d", f), steady(1.1+r.Float64()))
		}
		var dropped []uint64
		for range bursts {
			passes := distuv.Poisson{Lambda: drops / bursts, Src: r}.Rand()
			dropped = append(dropped, pages*uint64(passes))
		}
		for f := range functions {
			burst := -1
			add(fmt.Sprintf("ext4_drop_%d", f), func() uint64 { burst++; return dropped[burst] })
		}
		loads = append(loads, profile.Load{Cell: "randwrite", Number: i, Part: profile.Calls,
			Recording: profile.Recording{Kernel: "6.1.0", Traced: t}})
	}
	return loads
}

// TestInOneGo checks that occasional work in one go is not mistaken for a difference, and that work that happens more
// often is still found. Without counts of bursts, 117 of 1,000 pairs were wrongly reported as different, and with them
// none.
func TestInOneGo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	of := func(loads []profile.Load) cost.Profile {
		all, err := cost.Of(loads, cost.Options{})
		if err != nil || len(all) != 1 {
			t.Fatalf("%d profiles, %v", len(all), err)
		}
		return all[0]
	}
	const usual, often = 0.7, 30
	wrong, blind, found := 0, 0, 0
	runs := figure.Times(40, 1000)
	for range runs {
		if c := compared(t, of(dropping(r, 2, usual, true)), of(dropping(r, 2, usual, true))); len(c.Layers) > 0 {
			wrong++
		}
		if c := compared(t, of(dropping(r, 2, usual, false)), of(dropping(r, 2, usual, false))); len(c.Layers) > 0 {
			blind++
		}
		c := compared(t, of(dropping(r, 2, usual, true)), of(dropping(r, 2, often, true)))
		if len(c.Layers) == 1 && c.Layers[0].ID == "filesystem" {
			found++
		}
	}
	figure.Record(t, figure.Share("profile/in-one-go", wrong, runs, figure.Lower).
		Saying("simulated equal loads with work in one go that counts of bursts call different"))
	figure.Record(t, figure.Share("profile/in-one-go/blind", blind, runs, figure.Lower).
		Saying("the same without counts of bursts"))
	figure.Record(t, figure.Share("profile/in-one-go/found", found, runs, figure.Higher).
		Saying("simulated loads that do such work 40 times as often, found"))
	if wrong > runs/20 || blind <= runs/20 || found < runs/2 {
		t.Errorf("of %d: %d wrong (%d without bursts), %d found", runs, wrong, blind, found)
	}
}
