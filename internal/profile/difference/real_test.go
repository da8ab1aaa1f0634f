package difference

import (
	"bufio"
	"fmt"
	"maps"
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
)

// counted returns the calls of real kernels, by setting and by function; see the file.
func counted(t testing.TB) map[string]map[string]float64 {
	t.Helper()
	f, err := os.Open("../layer/testdata/calls.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var settings []string
	counts := map[string]map[string]float64{}
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Split(s.Text(), "\t")
		switch {
		case strings.HasPrefix(s.Text(), "#"):
		case settings == nil:
			settings = fields[1:]
			for _, name := range settings {
				counts[name] = map[string]float64{}
			}
		default:
			for i, name := range settings {
				n, _ := strconv.Atoi(fields[i+1])
				counts[name][fields[0]] = float64(n)
			}
		}
	}
	return counts
}

// load makes a load from counts. They have no contexts; the calls of the guest's shell are recognised by their names.
func load(number int, kernel string, counts map[string]float64) profile.Load {
	traced := &profile.Traced{Seconds: 0.6, Functions: true}
	for function, n := range counts {
		if n > 0 {
			traced.Calls = append(traced.Calls, profile.CallCount{Function: function, Context: context(function),
				Count: uint64(math.Round(n))})
		}
	}
	return profile.Load{Cell: "randread", Number: number, Part: profile.Calls,
		Recording: profile.Recording{Kernel: kernel, CPUs: 2, Traced: traced}}
}

func context(function string) profile.Context {
	for _, part := range []string{"path", "walk", "lookup", "step_into", "dentry", "d_alloc", "dput", "mnt",
		"permission", "nameidata", "link", "legitimize", "down_read", "up_read", "wait4", "_stat", "fstat", "getname",
		"putname", "nd_jump", "set_root", "terminate", "simple_",
		"d_add", "d_set", "d_drop", "rehash", "kernfs", "poll", "unhash"} {
		if strings.Contains(function, part) && !strings.HasSuffix(function, "file_permission") {
			return profile.InTask
		}
	}
	return profile.InLoad
}

func profileOf(t testing.TB, loads ...profile.Load) cost.Profile {
	t.Helper()
	all, err := cost.Of(loads, cost.Options{})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d profiles: %v", len(all), err)
	}
	return all[0]
}

func compared(t testing.TB, a, b cost.Profile) Cell {
	t.Helper()
	d, err := Of([]cost.Profile{a}, []cost.Profile{b}, Options{})
	if err != nil || len(d.Cells) != 1 {
		t.Fatalf("%d cells: %v", len(d.Cells), err)
	}
	return d.Cells[0]
}

// repeated returns loads as if the recorded load had been repeated: each function scatters independently, those that
// run for each I/O little, and others more than independent calls would.
func repeated(r *rand.Rand, n int, kernel string, counts map[string]float64) []profile.Load {
	reads := counts["aio_read"]
	var loads []profile.Load
	for i := range n {
		drawn := map[string]float64{}
		scale := math.Exp(0.3 * r.NormFloat64()) // faster or slower
		for _, function := range slices.Sorted(maps.Keys(counts)) {
			count := counts[function]
			perIO := count / reads
			switch whole := math.Abs(perIO-math.Round(perIO)) < 0.03 && perIO > 0.5; {
			case function == "aio_read":
				drawn[function] = math.Round(reads * scale)
			case whole: // except for I/Os that began or ended outside
				drawn[function] = max(0, count*scale+3*r.NormFloat64())
			default:
				drawn[function] = scattered(r, count*scale, 4.3*4.3)
			}
		}
		loads = append(loads, load(i+1, kernel, drawn))
	}
	return loads
}

// scattered draws a count whose variance is this many times that of independent events.
func scattered(r *rand.Rand, mean, over float64) float64 {
	if mean <= 0 {
		return 0
	}
	rate := distuv.Gamma{Alpha: mean / (over - 1), Beta: 1 / (over - 1), Src: r}.Rand()
	return distuv.Poisson{Lambda: max(rate, 1e-9), Src: r}.Rand()
}

func TestMechanismsOfRealKernels(t *testing.T) {
	counts := counted(t)
	for _, c := range []struct {
		a, b, kernelA, kernelB, layer, function string
		change                                  Change
	}{
		{"lazy1", "strict1", "6.1.0", "6.1.0", "dma", "qi_submit_sync", Appeared},
		{"strict1", "lazy1", "6.1.0", "6.1.0", "dma", "qi_submit_sync", Vanished},
		{"lazy612", "strict612", "6.12.1", "6.12.1", "dma", "qi_submit_sync", Appeared},
		{"lazy1", "strict612", "6.1.0", "6.12.1", "dma", "qi_submit_sync", Appeared},
		{"lazy1", "slub", "6.1.0", "6.1.0", "debugging", "check_bytes_and_report", Appeared},
	} {
		t.Run(c.a+" "+c.b, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 7))
			cell := compared(t, profileOf(t, repeated(r, 3, c.kernelA, counts[c.a])...),
				profileOf(t, repeated(r, 3, c.kernelB, counts[c.b])...))
			if len(cell.Layers) == 0 || cell.Layers[0].ID != c.layer || cell.Layers[0].Functions[0] != c.function {
				t.Fatalf("%s", told(cell))
			}
			if cell.Functions[0].Name != c.function || cell.Functions[0].Calls.Change != c.change {
				t.Errorf("first is %+v", cell.Functions[0])
			}
			if os.Getenv("SHOW") != "" {
				fmt.Println(told(cell))
			}
		})
	}
}

// told formats a cell for failures.
func told(c Cell) string {
	var b strings.Builder
	for _, l := range c.Layers {
		fmt.Fprintf(&b, "%-12s %.2f %v\n", l.ID, l.Share, l.Functions)
	}
	for _, f := range c.Functions {
		fmt.Fprintf(&b, "  %-30s %-10s", f.Name, f.Layer)
		if d := f.Calls; d != nil {
			fmt.Fprintf(&b, " %s %.3f -> %.3f [%.3f, %.3f]", d.Change, d.A, d.B, d.Low, d.High)
		}
		if d := f.NS; d != nil {
			fmt.Fprintf(&b, " %s %.0f -> %.0f ns [%.0f, %.0f]", d.Change, d.A, d.B, d.Low, d.High)
		}
		fmt.Fprintln(&b, f.Note)
	}
	fmt.Fprintf(&b, "%d alike, renamed %v, missing %v", c.Same, c.Renamed, c.Missing)
	return b.String()
}

// TestTwoBootsOfOneMachine compares boots whose settings don't matter for the load, each with its counts.
func TestTwoBootsOfOneMachine(t *testing.T) {
	counts := counted(t)
	equal := []string{"lazy1", "lazy2", "audit", "initonfree", "noinit", "owner"}
	for _, pair := range append(pairs(equal), [2]string{"strict1", "strict2"}) {
		r := rand.New(rand.NewPCG(3, 9))
		cell := compared(t, profileOf(t, repeated(r, 3, "6.1.0", counts[pair[0]])...),
			profileOf(t, repeated(r, 3, "6.1.0", counts[pair[1]])...))
		if len(cell.Functions)+len(cell.Layers) > 0 {
			t.Errorf("%v:\n%s", pair, told(cell))
		}
	}
}

func pairs(names []string) [][2]string {
	var all [][2]string
	for i, a := range names {
		for _, b := range names[i+1:] {
			all = append(all, [2]string{a, b})
		}
	}
	return slices.Clip(all)
}
