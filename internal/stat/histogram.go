package stat

import "math"

// MergeBins adds the counts of a binned distribution to another one. Both are pairs of slices of the same length:
// representative values, ascending and without repetition, and the number of samples of each. The result may share
// memory with dst, never with ns and counts, so dst must not be used again.
//
// If both were binned by the same rule, as all output of fio is, the result is exact: binning all samples together
// gives the same bins.
func MergeBins(dstNs []int64, dstCounts []uint64, ns []int64, counts []uint64) ([]int64, []uint64) {
	if len(dstNs) == 0 {
		return append(dstNs, ns...), append(dstCounts, counts...)
	}
	// Where no bin is new, which is usual after some repetitions of one load, only counts change.
	i := 0
	for j, v := range ns {
		for i < len(dstNs) && dstNs[i] < v {
			i++
		}
		if i == len(dstNs) || dstNs[i] != v {
			return insertBins(dstNs, dstCounts, i, ns[j:], counts[j:])
		}
		dstCounts[i] += counts[j]
	}
	return dstNs, dstCounts
}

// insertBins adds bins from index i on. Which side comes next is unpredictable, and a mispredicted branch would
// dominate the cost; so the loop has no branch, and adds a count or zero.
func insertBins(dstNs []int64, dstCounts []uint64, i int, ns []int64, counts []uint64) ([]int64, []uint64) {
	values, sums := make([]int64, len(dstNs)+len(ns)), make([]uint64, len(dstNs)+len(ns))
	k, j := i, 0
	copy(values, dstNs[:i])
	copy(sums, dstCounts[:i])
	for i < len(dstNs) && j < len(ns) {
		a, b := dstNs[i], ns[j]
		fromDst, fromNew := 0, 0
		if a <= b {
			fromDst = 1
		}
		if b <= a {
			fromNew = 1
		}
		values[k] = min(a, b)
		sums[k] = uint64(fromDst)*dstCounts[i] + uint64(fromNew)*counts[j]
		i, j, k = i+fromDst, j+fromNew, k+1
	}
	values, sums = append(values[:k], dstNs[i:]...), append(sums[:k], dstCounts[i:]...)
	return append(values, ns[j:]...), append(sums, counts[j:]...)
}

// AddBins is the sum of two binned distributions, as MergeBins makes it, in newly allocated memory.
func AddBins(ns []int64, counts []uint64, moreNs []int64, more []uint64) ([]int64, []uint64) {
	return insertBins(ns, counts, 0, moreNs, more)
}

// BinQuantile returns the value of the first bin up to which at least the share q of all samples lies, in the unit of
// the bins; NaN if there are no samples. It is fio's own rule (calc_clat_percentiles in fio's stat.c), so that a
// quantile computed here from one job's bins is the very number that fio prints.
func BinQuantile(ns []int64, counts []uint64, q float64) float64 {
	return BinQuantiles(ns, counts, []float64{q})[0]
}

// BinQuantiles returns BinQuantile for several shares, which ascend, in one pass.
func BinQuantiles(ns []int64, counts []uint64, shares []float64) []float64 {
	var total uint64
	for _, c := range counts {
		total += c
	}
	quantiles := make([]float64, len(shares))
	bin := 0
	sum := uint64(0) // of the bins before
	for n, q := range shares {
		quantiles[n] = math.NaN()
		if total == 0 || math.IsNaN(q) {
			continue
		}
		wanted := min(q, 1) * float64(total)
		// Whole numbers first: to turn each sum into a float would take most of the time.
		least := uint64(max(wanted, 0))
		for ; bin < len(counts); bin++ {
			c := counts[bin]
			if c > 0 && sum+c >= least && float64(sum+c) >= wanted {
				quantiles[n] = float64(ns[bin])
				break
			}
			sum += c
		}
	}
	return quantiles
}
