package stat_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// ablation is a block experiment with eight settings: a baseline visited twice a block (arm 0), each setting alone (1
// to 8), all of them (100) and all but one (101 to 108). The first one costs 40%, the others nothing.
const (
	settings  = 8
	tunedArm  = 100
	maxBlocks = 8
)

func ablationArms() []int {
	arms := []int{0, 0, tunedArm}
	for i := 1; i <= settings; i++ {
		arms = append(arms, i, tunedArm+i)
	}
	return arms
}

func costly(arm int) bool { return arm == 1 || arm >= tunedArm && arm != tunedArm+1 }

// blockOf draws a block: its visits in random order, with the noise of boots one after the other.
func blockOf(r *rand.Rand, block int, runs []float64, loud float64) []stat.Visit {
	arms := ablationArms()
	var visits []stat.Visit
	for i, j := range r.Perm(len(arms)) {
		v := stat.Visit{Block: block, Arm: arms[j], Log: runs[i]}
		if v.Arm == 3 {
			v.Log *= loud
		}
		if costly(v.Arm) {
			v.Log += math.Log(0.6)
		}
		visits = append(visits, v)
	}
	return visits
}

// A wrong claim is any difference at any look where a setting does nothing, alone or removed. Beside it the pairs of
// each arm by themselves.
func TestSimulatedBlocks(t *testing.T) {
	const claims = 2 * settings
	type machine struct {
		noise.Model
		// loud is how much noisier one of the settings that cost nothing is.
		loud, most float64
	}
	machines := []machine{
		{noise.Gaussian(0.1), 1, 3.5}, {noise.Gaussian(0.15), 1, 5}, {noise.Gaussian(0.1), 3, 4},
		{noise.StudentT3(0.1), 1, 3.5}, {noise.StudentT3(0.1), 3, 4},
		{noise.TwoMode(0.3, 0.05, 0.02, 0), 1, 3.5}, {noise.TwoMode(0.3, 0.1, 0.02, 0), 1, 4},
		{noise.TwoMode(0.5, 0.08, 0.02, 0), 1, maxBlocks},
		{noise.TwoMode(0.7, 0.05, 0.01, 0), 1, maxBlocks}, {noise.TwoMode(0.3, 0.2, 0.02, 0), 1, 5},
		{noise.TwoMode(0.3, 0.2, 0.02, 0.8), 1, 5},
		{noise.Wandering(0.8, 0.1), 1, 3.5}, {noise.Drift(0.01, 0.05), 1, 3.5},
	}
	if figure.Whole {
		for _, m := range recorded(t) {
			machines = append(machines, machine{m, 1, maxBlocks + 1}) // some hide 40% for longer
		}
	}
	for i, c := range machines {
		n := figure.Times(20, 1000)
		r := rand.New(rand.NewPCG(6, uint64(i)))
		var wrong, byPairs int
		var blocks, pairs float64
		for range n {
			runs := c.Runs(r, maxBlocks*len(ablationArms()))
			var visits []stat.Visit
			logs := map[int][]float64{} // of an arm against its partner, one a block
			spoiled, spoiledByPairs, found, foundByPairs := false, false, maxBlocks+1, maxBlocks+1
			for block := 1; block <= maxBlocks; block++ {
				drawn := blockOf(r, block, runs[(block-1)*len(ablationArms()):], c.loud)
				visits = append(visits, drawn...)
				fit := stat.FitBlocks(visits)
				mean := map[int]float64{}
				for _, v := range drawn {
					mean[v.Arm] += v.Log
				}
				mean[0] /= 2
				for s := 1; s <= settings; s++ {
					for next, base := range map[int]int{s: 0, tunedArm: tunedArm + s} {
						arm := max(next, base) // the one that is about s
						if next == tunedArm {
							arm = base
						}
						logs[arm] = append(logs[arm], mean[next]-mean[base])
						pooled := fit.Change(map[int]float64{next: 1, base: -1}, 0.05/claims).Change
						paired := stat.PairedChange(logs[arm], 0.05/claims)
						if s != 1 {
							spoiled, spoiledByPairs = spoiled || claimsAny(pooled), spoiledByPairs || claimsAny(paired)
						} else if next == 1 {
							if claimsAny(pooled) {
								found = min(found, block)
							}
							if claimsAny(paired) {
								foundByPairs = min(foundByPairs, block)
							}
						}
					}
				}
			}
			wrong, byPairs = wrong+count(spoiled), byPairs+count(spoiledByPairs)
			blocks, pairs = blocks+float64(found)/float64(n), pairs+float64(foundByPairs)/float64(n)
		}
		what := fmt.Sprintf("%s, one setting %g times as noisy", c.Name, c.loud)
		for _, f := range []figure.Figure{
			figure.Share(figure.Name("decisions/blocks/wrong", what), wrong, n,
				figure.Lower).Saying("eight settings, %s: wrong", what),
			figure.Share(figure.Name("decisions/blocks/wrong-by-pairs", what), byPairs, n,
				"").Saying("eight settings, %s: wrong by the pairs of each arm", what),
			{Name: figure.Name("decisions/blocks/found", what), Center: blocks, N: n, Better: figure.Lower,
				Text: "eight settings, " + what + ": blocks until a cost of 40% is found"},
			{Name: figure.Name("decisions/blocks/found-by-pairs", what), Center: pairs, N: n, Text: "eight settings, " +
				what + ": the same by the pairs of each arm"},
		} {
			figure.Record(t, f)
		}
		figure.AtMost(t, c.Name, wrong, n, 0.05)
		if blocks > c.most {
			t.Errorf("%s: 40%% found after %.1f blocks, promised are %g", c.Name, blocks, c.most)
		}
	}
}

func claimsAny(c stat.Change) bool { return c.Known() && (c.Lo > 1 || c.Hi < 1) }

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// Designs of other sizes: the fewest blocks are chosen for an error that many or few arms share.
func TestSimulatedBlocksOfOtherSizes(t *testing.T) {
	for i, size := range []struct{ arms, claims int }{{1, 1}, {2, 2}, {8, 64}, {20, 40}} {
		for _, model := range []noise.Model{noise.Gaussian(0.1), noise.StudentT3(0.1),
			noise.TwoMode(0.4, 0.05, 0.02, 0), noise.TwoMode(0.4, 0.1, 0.02, 0), noise.TwoMode(0.4, 0.3, 0.02, 0)} {
			n := figure.Times(30, 1000)
			r := rand.New(rand.NewPCG(7, uint64(i)))
			wrong := 0
			for range n {
				spoiled := false
				cells := max(1, size.claims/size.arms)
				for range cells {
					runs := model.Runs(r, maxBlocks*(size.arms+2))
					var visits []stat.Visit
					for block := 1; block <= maxBlocks && !spoiled; block++ {
						for j, p := range r.Perm(size.arms + 2) {
							visits = append(visits, stat.Visit{Block: block, Arm: max(p-1, 0),
								Log: runs[(block-1)*(size.arms+2)+j]})
						}
						fit := stat.FitBlocks(visits)
						for arm := 1; arm <= size.arms; arm++ {
							spoiled = spoiled ||
								claimsAny(fit.Change(map[int]float64{arm: 1, 0: -1}, 0.05/float64(size.claims)).Change)
						}
					}
				}
				wrong += count(spoiled)
			}
			figure.Record(t, figure.Share(figure.Name("decisions/blocks/sizes",
				fmt.Sprintf("%d settings, %d claims", size.arms, size.claims), model.Name), wrong, n, figure.Lower).
				Saying("%d settings, %d claims, %s: wrong", size.arms, size.claims, model.Name))
			figure.AtMost(t, model.Name, wrong, n, 0.05)
		}
	}
}
