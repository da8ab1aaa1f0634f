package bisection_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
	"gonum.org/v1/gonum/stat"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/kconfig"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/search"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// The searches between two real kernels are simulated: which of some 3,000 options that differ between their
// configurations costs the performance? A mixture is a kernel that must be built, so kernels are counted, those beside
// the two that are there; and boots, since each kernel is measured several times. `go test` makes a few searches of
// each kind; scripts/bench makes 200 (HEADROOM_SEARCHES), for the figures that docs/explanation/culprits.md quotes.

// build is how many boots with their measurements take as long as building a kernel.
const build = 10

// searches of each kind.
func searches(few int) int {
	n := 200
	fmt.Sscan(os.Getenv("HEADROOM_SEARCHES"), &n)
	return figure.Times(few, n)
}

// boots are the noises of one measurement after a boot, with their standard deviations: 4% is what fio on an NVMe drive
// shows.
func boots() []struct {
	name  string
	model noise.Model
	sd    float64
} {
	gap := math.Log1p(-0.15)
	return []struct {
		name  string
		model noise.Model
		sd    float64
	}{
		{"Gaussian", noise.Gaussian(0.04), 0.04},
		{"Student t3", noise.StudentT3(0.04), 0.04},
		{"two-mode", noise.TwoMode(0.15, 0.3, 0.02, 0), math.Sqrt(0.3*0.7*gap*gap + 0.02*0.02)},
	}
}

// published is the configuration of a kernel as a distribution ships it.
func published(t *testing.T, name string) diff.Side {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../kconfig/testdata", name+".config.gz"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := diff.Decode(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// with an option set, and nothing said under the names that it had or will have.
func with(s diff.Side, option, value string) diff.Side {
	const prefix = "kernel.config."
	names := []string{option}
	if option == "INTEL_IOMMU_DEFAULT_ON" { // of a choice only one is on
		names = append(names, "INTEL_IOMMU_DEFAULT_ON_INTGPU_OFF", "INTEL_IOMMU_DEFAULT_OFF")
	}
	for i := 0; i < len(names); i++ {
		for _, r := range kconfig.Renames() {
			for _, other := range [][2]string{{r.Old, r.New}, {r.New, r.Old}} {
				if other[0] == names[i] && !slices.Contains(names, other[1]) {
					names = append(names, other[1])
				}
			}
		}
	}
	facts := slices.DeleteFunc(slices.Clone(s.Facts), func(f lab.Fact) bool {
		return slices.Contains(names, strings.TrimPrefix(f.Key, prefix))
	})
	return diff.Side{Name: s.Name, Facts: append(facts, lab.Fact{Key: prefix + option, Value: value, Source: s.Name})}
}

// place of an option among what differs, folded under another or not.
func place(differences []diff.Difference, option string) int {
	return slices.IndexFunc(differences, func(d diff.Difference) bool {
		return d.Name == option || slices.Contains(d.Follows, "kernel.config."+option)
	})
}

// priorsOf the options that differ, as candidates of a search.
func priorsOf(k *diff.Knowledge, differences []diff.Difference) []float64 {
	var e lab.Experiment
	for _, d := range differences {
		e.Factors = append(e.Factors, lab.VariedFactor{Factor: "option:" + d.Name, Levels: []string{d.A, d.B}})
	}
	return bisection.Priors(k, &e)
}

// trials are searches alike.
type trials struct {
	kernels, boots []float64
	// searching are the boots without those of proofs.
	searching []float64
	right     int
}

func (r *trials) add(o trials) {
	r.kernels, r.boots, r.right = append(r.kernels, o.kernels...), append(r.boots, o.boots...), r.right+o.right
	r.searching = append(r.searching, o.searching...)
}

// record them: name says which they are, and what says it in words.
func (r *trials) record(t *testing.T, name, what string) {
	t.Helper()
	n := len(r.kernels)
	slices.Sort(r.kernels)
	quantile := func(q float64) float64 { return stat.Quantile(q, stat.Empirical, r.kernels, nil) }
	for _, f := range []figure.Figure{
		figure.Mean(name+"/kernels", "", r.kernels, figure.Lower).
			Saying("%s: kernels built (median %.0f, p90 %.0f, most %.0f)", what, quantile(0.5), quantile(0.9),
				r.kernels[n-1]),
		figure.Mean(name+"/boots", "", r.boots, figure.Lower).Saying("%s: boots", what),
		figure.Share(name+"/right", r.right, n, figure.Higher).Saying("%s: right", what),
	} {
		figure.Record(t, f)
	}
}

// between two kernels, one of whose differences has an effect.
type between struct {
	priors  []float64
	of      int
	build   float64
	culprit func(r *rand.Rand) int
	effect  float64
	model   noise.Model
	// others that have an effect too, and how much each.
	others int
	small  float64
}

func (b between) run(n int) trials {
	var all trials
	var lock sync.Mutex
	var group sync.WaitGroup
	next := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := range next {
				one := b.once(seed)
				lock.Lock()
				all.add(one)
				lock.Unlock()
			}
		})
	}
	for seed := range n {
		next <- uint64(seed + 1)
	}
	close(next)
	group.Wait()
	return all
}

func (b between) once(seed uint64) trials {
	r := rand.New(rand.NewPCG(seed, 6))
	culprit := b.culprit(r)
	others := slices.DeleteFunc(r.Perm(b.of), func(c int) bool { return c == culprit })[:b.others]
	s := search.New(search.Space{Candidates: b.of, Priors: b.priors},
		search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, MaxMeasurements: 150, Build: b.build, Seed: seed})
	built := map[string]bool{}
	n := 0.0
	for q, more := s.Next(); more; q, more = s.Next() {
		if c := q.Subset.Count(); c > 0 && c < b.of {
			built[fmt.Sprint(q.Subset)] = true
		}
		n++
		log := math.Log(1000) + b.model.Runs(r, 1)[0]
		if q.Subset[culprit] {
			log += b.effect
		}
		for _, c := range others {
			if q.Subset[c] {
				log += b.small
			}
		}
		if err := s.Add(q, math.Exp(log)); err != nil {
			panic(err)
		}
	}
	one := trials{kernels: []float64{float64(len(built))}, boots: []float64{n},
		searching: []float64{float64(s.Measurements())}}
	if a := s.Answer(); a.Finished() && slices.Equal(a.Culprits, []int{culprit}) {
		one.right = 1
	}
	return one
}

func always(c int) func(*rand.Rand) int { return func(*rand.Rand) int { return c } }

// Talos 6.6.57 with strict IOMMU against Debian 6.1: of 3,078 differences the one that costs 60% is found and proved
// with at most five kernels built, since facts diff knows it.
func TestTalosInFewKernels(t *testing.T) {
	k := knowledge(t)
	differences := k.Compare(published(t, "debian-6.1.0-50"), published(t, "talos-6.6.57-iommu-strict")).Differences
	if len(differences) != 3078 {
		t.Fatalf("%d differences", len(differences))
	}
	culprit, priors := place(differences, "IOMMU_DEFAULT_DMA_STRICT"), priorsOf(k, differences)
	strict := between{priors: priors, of: len(differences), build: build, culprit: always(culprit),
		effect: math.Log(0.4)}
	uncounted, cold, beside := strict, strict, strict
	uncounted.build, cold.priors = 0, nil
	beside.others, beside.small = 20, math.Log(0.99)
	for _, b := range boots() {
		for _, w := range []struct {
			name string
			between
			most float64 // promised; 0 for no promise
		}{
			{"known", strict, 5},
			{"known, building costs nothing", uncounted, 0},
			{"nothing known", cold, 0},
			{"known, 20 others cost 1% each", beside, 0},
		} {
			if w.most == 0 && !figure.Whole {
				continue
			}
			w.model = b.model
			r := w.run(searches(4))
			r.record(t, figure.Name("bisection/talos", b.name, w.name),
				fmt.Sprintf("Talos, strict IOMMU costs 60%%, %s, prior %.2f, %s", b.name, priors[culprit], w.name))
			within := stat.CDF(w.most, stat.Empirical, r.kernels, nil)
			if w.most > 0 && (within < 0.95 || float64(r.right) < 0.95*float64(len(r.kernels))) {
				t.Errorf("%s, %s: at most %.0f kernels in %.0f%% of the searches, right in %d of %d", b.name, w.name,
					w.most, 100*within, r.right, len(r.kernels))
			}
		}
	}
}

// Each of twenty published regressions, planted alone between the same two kernels, is found in fewer kernels than
// without priors, and half of them in ten at most. An option of which nothing is known takes a few more than without.
func TestPublishedRegressionsInFewKernels(t *testing.T) {
	data, err := os.ReadFile("../diff/testdata/regressions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct{ Option, Slow, Fast string }
	if err := yaml.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 20 {
		t.Fatalf("%d regressions in the list, want 20", len(list))
	}
	k := knowledge(t)
	fast, slow := published(t, "debian-6.1.0-50"), published(t, "talos-6.6.57-iommu-strict")
	planted := make([][]diff.Difference, len(list))
	for i, r := range list {
		planted[i] = k.Compare(with(fast, r.Option, r.Fast), with(slow, r.Option, r.Slow)).Differences
	}
	for _, d := range []float64{2, 3, 5, 20} {
		for _, b := range boots() {
			if !figure.Whole && (d != 5 || b.name != "Gaussian") {
				continue
			}
			row, under := fmt.Sprintf("d=%g, %s", d, b.name),
				figure.Name("bisection/published", fmt.Sprintf("d %g", d), b.name)
			here := between{build: build, effect: -d * b.sd, model: b.model}
			here.of, here.culprit = len(planted[0]), func(r *rand.Rand) int { return r.IntN(len(planted[0])) }
			cold := here.run(searches(6))
			bound := stat.Mean(cold.kernels, nil)
			var all trials
			var means []float64
			for i, r := range list {
				c := place(planted[i], r.Option)
				here.priors, here.of, here.culprit = priorsOf(k, planted[i]), len(planted[i]), always(c)
				one := here.run(searches(8) / 4)
				mean := stat.Mean(one.kernels, nil)
				one.record(t, figure.Name(under, r.Option), fmt.Sprintf("%s, %s in place %d, prior %.3f", row, r.Option,
					c+1, here.priors[c]))
				if mean > bound {
					t.Errorf("%s: %s takes %.1f kernels, and %.1f without priors", row, r.Option, mean, bound)
				}
				means = append(means, mean)
				all.add(one)
			}
			slices.Sort(means)
			median := stat.Quantile(0.5, stat.Empirical, means, nil)
			all.record(t, under+"/all", row+", the twenty")
			figure.Record(t, figure.Figure{Name: under + "/median", Center: median, N: len(means), Better: figure.Lower,
				Text: row + ", the twenty: kernels, median of their means"})
			figure.Record(t, figure.Figure{Name: under + "/worst", Center: means[len(means)-1], N: len(means),
				Better: figure.Lower, Text: row + ", the twenty: kernels, worst of their means"})
			cold.record(t, under+"/without-priors", row+", without priors")
			if median > 10 || float64(all.right) < 0.95*float64(len(all.kernels)) {
				t.Errorf("%s: median %.1f kernels, at most 10 promised; right in %d of %d", row, median,
					all.right, len(all.kernels))
			}
			here.priors, here.of = priorsOf(k, planted[0]), len(planted[0])
			unknown := unexpected(here.priors)
			here.culprit = func(r *rand.Rand) int { return unknown[r.IntN(len(unknown))] }
			none := here.run(searches(6))
			more, limit := stat.Mean(none.kernels, nil)-bound, 2*math.Log2(5)/search.Capacity(d)
			none.record(t, under+"/unknown",
				fmt.Sprintf("%s, one of %d of which nothing is known, %.1f more (at most %.1f)", row, len(unknown),
					more, limit))
			if more > limit || float64(none.right) < 0.95*float64(len(none.kernels)) {
				t.Errorf("%s: nothing known of the culprit: %.1f kernels more than without priors, at most %.1f "+
					"promised; right in %d of %d", row, more, limit, none.right, len(none.kernels))
			}
		}
	}
}

// unexpected are the candidates of which nothing is known.
func unexpected(priors []float64) []int {
	var list []int
	least := slices.Min(priors)
	for c, p := range priors {
		if p == least {
			list = append(list, c)
		}
	}
	return list
}

func knowledge(t *testing.T) *diff.Knowledge {
	t.Helper()
	k, err := diff.Load()
	if err != nil {
		t.Fatal(err)
	}
	return k
}
