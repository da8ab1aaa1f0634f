package factor

import (
	"slices"
	"strings"
)

// Order puts factors in the order in which they have to be changed so that none resets another: CPUs before what is set
// of each, a scheduler before the depth of its queue, channels and the MTU before rings. Undoing goes the other way.
func Order(factorNames []string) []string {
	ordered := slices.Clone(factorNames)
	slices.SortStableFunc(ordered, func(a, b string) int { return rank(a) - rank(b) })
	return ordered
}

func rank(factorName string) int {
	_, factorName = SplitRole(WithoutDevice(factorName))
	for i, group := range [][]string{
		{"cpu:smt", "cpu:online", "queue:scheduler"},
		{"cpu:governor", "queue:nr_requests", "/mtu", "/channels", "/channels-rx", "/channels-tx"},
	} {
		if slices.ContainsFunc(group, func(g string) bool {
			return factorName == g || g[0] == '/' && strings.HasSuffix(factorName, g)
		}) {
			return i
		}
	}
	return 2
}
