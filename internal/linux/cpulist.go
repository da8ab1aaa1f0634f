package linux

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU is the highest number that the kernel can be built for (CONFIG_NR_CPUS is at most 8192).
const maxCPU = 8191

// ParseCPUs reads a list of CPUs as the kernel writes it, ascending and each once.
// Source: Documentation/core-api/printk-formats.rst, "bitmap and its derivatives".
//
//	0-7
//	0-15,32-47
//	3,5,9-11
func ParseCPUs(text string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 16)
		to, err2 := strconv.ParseUint(last, 10, 16)
		if err1 != nil || err2 != nil || to < from || to > maxCPU {
			return nil, fmt.Errorf("%q is no list of CPUs, such as 0-3,8", text)
		}
		for n := from; n <= to; n++ {
			cpus = append(cpus, int(n))
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

// FormatCPUs writes a list of CPUs as the kernel does.
func FormatCPUs(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		part := strconv.Itoa(cpus[i])
		if j > i {
			part += "-" + strconv.Itoa(cpus[j])
		}
		parts, i = append(parts, part), j+1
	}
	return strings.Join(parts, ",")
}

// CanonicalCPUs writes a list of CPUs in the one way of the kernel, anything else as it is.
func CanonicalCPUs(text string) string {
	cpus, err := ParseCPUs(text)
	if err != nil {
		return text
	}
	return FormatCPUs(cpus)
}
