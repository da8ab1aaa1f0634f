package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMergeBins(t *testing.T) {
	for _, c := range []struct {
		name           string
		aNs, bNs, want []int64
		a, b, counts   []uint64
	}{
		{"into nothing", nil, []int64{5, 9}, []int64{5, 9}, nil, []uint64{1, 2}, []uint64{1, 2}},
		{"nothing into it", []int64{5, 9}, nil, []int64{5, 9}, []uint64{1, 2}, nil, []uint64{1, 2}},
		{"the same bins", []int64{5, 9}, []int64{5, 9}, []int64{5, 9}, []uint64{1, 2}, []uint64{10, 20},
			[]uint64{11, 22}},
		{"interleaved", []int64{1, 5, 9}, []int64{3, 5, 11}, []int64{1, 3, 5, 9, 11}, []uint64{1, 1, 1},
			[]uint64{2, 2, 2}, []uint64{1, 2, 3, 1, 2}},
		{"one after the other", []int64{1}, []int64{2, 3}, []int64{1, 2, 3}, []uint64{7}, []uint64{8, 9},
			[]uint64{7, 8, 9}},
	} {
		ns, counts := MergeBins(slices.Clone(c.aNs), slices.Clone(c.a), c.bNs, c.b)
		if !slices.Equal(ns, c.want) || !slices.Equal(counts, c.counts) {
			t.Errorf("%s: got %v %v, want %v %v", c.name, ns, counts, c.want, c.counts)
		}
	}
}

// Splitting samples over any number of jobs and merging them again must give the bins of all samples.
func TestMergeBinsLosesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := map[int64]uint64{}
	var ns []int64
	var counts []uint64
	for range 8 {
		part := map[int64]uint64{}
		for range 500 {
			v := int64(rng.ExpFloat64() * 50)
			part[v]++
			all[v]++
		}
		partNs, partCounts := sorted(part)
		ns, counts = MergeBins(ns, counts, partNs, partCounts)
	}
	wantNs, wantCounts := sorted(all)
	if !slices.Equal(ns, wantNs) || !slices.Equal(counts, wantCounts) {
		t.Errorf("got %v %v\nwant %v %v", ns, counts, wantNs, wantCounts)
	}
}

func sorted(m map[int64]uint64) (ns []int64, counts []uint64) {
	for v := range m {
		ns = append(ns, v)
	}
	slices.Sort(ns)
	for _, v := range ns {
		counts = append(counts, m[v])
	}
	return ns, counts
}

func TestMergeBinsLeavesItsSourceAlone(t *testing.T) {
	src, srcCounts := []int64{1, 2}, []uint64{1, 1}
	ns, counts := MergeBins(nil, nil, src, srcCounts)
	MergeBins(ns, counts, src, srcCounts)
	if srcCounts[0] != 1 || srcCounts[1] != 1 {
		t.Errorf("the source was changed to %v", srcCounts)
	}
}

func TestBinQuantile(t *testing.T) {
	ns, counts := []int64{10, 20, 30, 40}, []uint64{50, 40, 9, 1}
	for q, want := range map[float64]float64{0: 10, 0.5: 10, 0.51: 20, 0.9: 20, 0.99: 30, 0.999: 40, 1: 40, 2: 40} {
		if got := BinQuantile(ns, counts, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if got := BinQuantile([]int64{5}, []uint64{0}, 0.5); !math.IsNaN(got) {
		t.Errorf("quantile of no samples is %v", got)
	}
	if got := BinQuantile(nil, nil, 0.5); !math.IsNaN(got) {
		t.Errorf("quantile of no bins is %v", got)
	}
	// Bins that nothing fell into are never the answer.
	if got := BinQuantile([]int64{1, 2}, []uint64{0, 3}, 0); got != 2 {
		t.Errorf("the lowest quantile is %v, want 2", got)
	}
}
