package ablation

import (
	"embed"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/headroom/headroom/internal/testing/figure"
)

//go:embed testdata/*.csv
var recordings embed.FS

// boot is one recorded boot of a guest.
type boot struct {
	arm    string
	block  int
	number int
	iops   float64
}

// parseBoots reads recorded boots; lines that begin with # say how they were recorded.
//
//	arm,boot,block,iops
//	baseline,1,1,6837
//	slub_debug=FZPU,2,1,4102
func parseBoots(text string) ([]boot, error) {
	const head = "arm,boot,block,iops"
	var boots []boot
	headed := false
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if !headed {
			if headed = line == head; !headed {
				return nil, fmt.Errorf("line %d: %q, want %s", i+1, line, head)
			}
			continue
		}
		fields := strings.Split(line, ",")
		if len(fields) != strings.Count(head, ",")+1 {
			return nil, fmt.Errorf("line %d: %d fields", i+1, len(fields))
		}
		number, err1 := strconv.Atoi(fields[1])
		block, err2 := strconv.Atoi(fields[2])
		iops, err3 := strconv.ParseFloat(fields[3], 64)
		if err1 != nil || err2 != nil || err3 != nil || !(iops > 0) || math.IsInf(iops, 1) {
			return nil, fmt.Errorf("line %d: %q is no boot", i+1, line)
		}
		boots = append(boots, boot{arm: fields[0], block: block, number: number, iops: iops})
	}
	if len(boots) == 0 {
		return nil, fmt.Errorf("no boots")
	}
	return boots, nil
}

func FuzzParseBoots(f *testing.F) {
	for name, text := range recorded(f) {
		f.Add(text)
		if boots, err := parseBoots(text); err != nil || len(boots) < 20 {
			f.Errorf("%s: %d boots, %v", name, len(boots), err)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		boots, err := parseBoots(text)
		for _, b := range boots {
			if err == nil && !(b.iops > 0) {
				t.Errorf("%+v", b)
			}
		}
	})
}

func recorded(t testing.TB) map[string]string {
	t.Helper()
	files, err := recordings.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range files {
		text, err := recordings.ReadFile("testdata/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		texts[f.Name()] = string(text)
	}
	if len(texts) == 0 {
		t.Fatal("no recorded boots")
	}
	return texts
}

// expensive is the setting of the recordings that costs something; that of the others costs nothing is why they were
// chosen, and here they all draw from the same boots, so that it is true.
const expensive = "slub_debug=FZPU"

// pools are the recorded boots without and with the expensive setting, as logarithms, by block.
type pools struct{ cheap, dear [][]float64 }

func poolsOf(boots []boot) pools {
	byBlock := map[int]*[2][]float64{}
	var blocks []int
	for _, b := range boots {
		if byBlock[b.block] == nil {
			byBlock[b.block] = &[2][]float64{}
			blocks = append(blocks, b.block)
		}
		i := 0
		if b.arm == expensive {
			i = 1
		}
		byBlock[b.block][i] = append(byBlock[b.block][i], math.Log(b.iops))
	}
	slices.Sort(blocks)
	var p pools
	for _, b := range blocks {
		if both := byBlock[b]; len(both[0]) > 0 && len(both[1]) > 0 {
			p.cheap, p.dear = append(p.cheap, both[0]), append(p.dear, both[1])
		}
	}
	return p
}

// mixed are the same boots without their blocks.
func (p pools) mixed() pools {
	return pools{[][]float64{slices.Concat(p.cheap...)}, [][]float64{slices.Concat(p.dear...)}}
}

// noise is the standard deviation of a boot within its block.
func (p pools) noise() float64 {
	sum, freedom := 0.0, 0.0
	for _, block := range p.cheap {
		sum += stat.Variance(block, nil) * float64(len(block)-1)
		freedom += float64(len(block) - 1)
	}
	return math.Sqrt(sum / freedom)
}

// quiet is a stand-in for a recording on a host with nothing else to do: the recorded noise made smaller, and the
// expensive setting costs 40%.
func (p pools) quiet(noise float64) pools {
	var out pools
	shrink := func(block []float64, level float64) []float64 {
		mean, small := stat.Mean(block, nil), make([]float64, len(block))
		for i, log := range block {
			small[i] = level + (log-mean)*noise/p.noise()
		}
		return small
	}
	for i := range p.cheap {
		out.cheap, out.dear = append(out.cheap, shrink(p.cheap[i], 9)),
			append(out.dear, shrink(p.cheap[i], 9+math.Log(0.6)))
	}
	return out
}

// machine draws boots: each block of an ablation from one recorded block.
func (p pools) machine(r *rand.Rand, costly int) machine {
	drawn := map[int]int{}
	return func(arm string, block int) map[string]float64 {
		if _, ok := drawn[block]; !ok {
			drawn[block] = r.IntN(len(p.cheap))
		}
		from := p.cheap[drawn[block]]
		if costly > 0 && slices.Contains(in(arm, 8), costly) {
			from = p.dear[drawn[block]]
		}
		return map[string]float64{"read.iops": math.Exp(from[r.IntN(len(from))])}
	}
}

// TestResampledAblations carries out ablations of eight settings with recorded boots in place of new ones: with one
// setting that costs and seven that do not, and with eight that do not. At most 5% may have a wrong "slower"; a wrong
// "faster" counts too.
func TestResampledAblations(t *testing.T) {
	n := figure.Times(40, 500)
	for name, text := range recorded(t) {
		boots, err := parseBoots(text)
		if err != nil {
			t.Fatal(err)
		}
		byBlock := poolsOf(boots)
		if len(byBlock.cheap) < 2 {
			t.Fatalf("%s has %d whole blocks", name, len(byBlock.cheap))
		}
		for i, c := range []struct {
			name   string
			pool   pools
			costly int
		}{{"one costs, noise made smaller", byBlock.quiet(0.1), 3},
			{"none costs, noise made smaller", byBlock.quiet(0.1), 0}, {"one costs, by block", byBlock, 3},
			{"one costs, mixed", byBlock.mixed(), 3}, {"none costs, by block", byBlock, 0},
			{"none costs, mixed", byBlock.mixed(), 0}} {
			r := rand.New(rand.NewPCG(20, uint64(i)))
			var wrong, named, distrusted, blocks, visits int
			for range n {
				d := designFor(8, randread())
				doc := Compute(d, carryOut(r, d, usual(), c.pool.machine(r, c.costly)), usual(), nil)
				spoiled := false
				for _, s := range doc.Settings {
					switch {
					case s.Number == c.costly && s.Verdict == Slower:
						named++
					case s.Number == c.costly && s.Verdict == Undecided:
					case s.Verdict != Undecided && s.Verdict != Same:
						spoiled = true
					}
				}
				if spoiled {
					wrong++
				}
				if doc.Controls[0].Different() {
					distrusted++
				}
				blocks, visits = blocks+doc.Blocks, visits+doc.Visits
			}
			what := fmt.Sprintf("%s, %s, noise of a boot %.0f%%", name, c.name, 100*c.pool.noise())
			called := func(kind string) string {
				return figure.Name("ablation", kind, strings.TrimSuffix(name, ".csv"), c.name)
			}
			figures := []figure.Figure{
				figure.Share(called("wrong"), wrong, n, figure.Lower).Saying("%s: ablations with a wrong verdict",
					what),
				figure.Share(called("unlike-itself"), distrusted, n,
					figure.Lower).Saying("%s: the baseline is unlike itself", what),
				{Name: called("blocks"), Center: float64(blocks) / float64(n), N: n, Better: figure.Lower, Text: what +
					": blocks on average"},
				{Name: called("boots"), Center: float64(visits) / float64(n), N: n, Better: figure.Lower, Text: what +
					": boots on average"},
			}
			if c.costly > 0 {
				figures = append(figures, figure.Share(called("named"), named, n,
					figure.Higher).Saying("%s: the expensive one is named", what))
			}
			for _, f := range figures {
				figure.Record(t, f)
			}
			few := 3 * math.Sqrt(0.05*0.95/float64(n))
			if share := float64(wrong) / float64(n); share > 0.05+few {
				t.Errorf("%s, %s: wrong in %.1f%%", name, c.name, 100*share)
			}
			if share := float64(distrusted) / float64(n); share > 0.05+few {
				t.Errorf("%s, %s: the baseline is unlike itself in %.1f%%", name, c.name, 100*share)
			}
			if c.costly > 0 && c.pool.noise() < 0.15 && named < n*8/10 {
				t.Errorf("%s, %s: the expensive setting is named in %d of %d", name, c.name, named, n)
			}
		}
	}
}
