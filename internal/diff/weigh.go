package diff

import (
	"math"
	"strconv"
	"strings"
)

// Factors for a weight if a difference can't matter: both sides behave alike whatever was built or requested, or both
// have an option on, once built in and once as a module.
const (
	sameInEffect = 0.02
	sameButBuilt = 0.05
)

// weigh returns the share of an entry's weight that a pair of values deserves, and the likely slower side: "a", "b" or
// "" if unknown.
func (e *entry) weigh(a, b string) (weight float64, slower string) {
	switch e.Slow {
	case "":
		return e.Weight, ""
	case "y", "n":
		onA, onB := on(a), on(b)
		if onA == onB {
			return e.Weight * sameButBuilt, ""
		}
		return e.Weight, sideOf(onA == (e.Slow == "y"))
	case "high", "low":
		x, okA := number(a)
		y, okB := number(b)
		if !okA || !okB || x == y {
			return e.Weight / 2, ""
		}
		return e.Weight * distance(x, y), sideOf((x > y) == (e.Slow == "high"))
	}
	slowA, slowB := e.slowValue(a), e.slowValue(b)
	if slowA == slowB {
		return e.Weight / 2, ""
	}
	return e.Weight, sideOf(slowA)
}

func sideOf(a bool) string {
	if a {
		return "a"
	}
	return "b"
}

func (e *entry) slowValue(value string) bool {
	if value == "" {
		value = absent
	}
	for pattern := range strings.SplitSeq(e.Slow, "|") {
		if matches(pattern, value) && (value != absent || pattern == absent) {
			return true
		}
	}
	return false
}

// absent is the value of a missing boot argument in the knowledge.
const absent = "absent"

// on reports whether a value of an option means that it is on: y, m, a number other than 0, a text.
func on(value string) bool { return value != "n" && value != "" && value != "0" }

// number returns a value's number: the only one, or the last of a list, as in "4096 131072 6291456".
func number(value string) (float64, bool) {
	words := strings.Fields(value)
	if len(words) == 0 {
		return 0, false
	}
	last := words[len(words)-1]
	if n, err := strconv.ParseInt(last, 0, 64); err == nil {
		return float64(n), true
	}
	n, err := strconv.ParseFloat(last, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// distance returns 1 for numbers that differ fourfold or more, or if one is 0, and less for closer ones: queue depths
// of 1023 and 1024 hardly differ.
func distance(x, y float64) float64 {
	if x <= 0 || y <= 0 {
		return 1
	}
	// Divide the larger by the smaller: the logarithm of the inverse is rounded differently on arm64.
	return min(1, max(0.05, math.Log2(max(x, y)/min(x, y))/2))
}
