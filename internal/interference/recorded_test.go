package interference

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// Three groups that take nothing from each other, measured alone and together on disks that were recorded: few of many
// studies say that any loses.
func TestFewLoseOnRecordedDisks(t *testing.T) {
	models, err := noise.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	const passes = 6
	studies := figure.Times(40, 1000)
	combinations := Combinations(3)
	groups := []Group{{Name: "application", Kind: "storage"}, {Name: "data", Kind: "storage"},
		{Name: "backup", Kind: "storage"}}
	for _, model := range models {
		r, wrong := rand.New(rand.NewPCG(32, 1)), 0
		for range studies {
			levels := model.Runs(r, passes*len(combinations))
			var all []Measured
			for block := 1; block <= passes; block++ {
				for at, n := range r.Perm(len(combinations)) {
					rates := map[int]float64{}
					for _, g := range combinations[n] {
						rates[g] = gigabit * math.Exp(levels[(block-1)*len(combinations)+at])
					}
					all = append(all, Measured{Block: block, Rates: rates})
				}
			}
			d := Analyse(groups, all, nil, nil, Terms{Margin: DefaultMargin, Alpha: DefaultAlpha, Passes: passes})
			if len(d.Shared) > 0 || d.Answer.Verdict == Loses {
				wrong++
			}
		}
		figure.Record(t, figure.Share(figure.Name("interference/wrong", model.Name), wrong, studies,
			figure.Lower).Saying("studies of loads that take nothing from each other that say so of some, on a disk "+
			"as %s", model.Name))
		if wrong > studies*5/100 {
			t.Errorf("%s: %d of %d studies say that somebody loses", model.Name, wrong, studies)
		}
	}
}
