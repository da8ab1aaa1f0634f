package cli

import "headroom/internal/lab"

// manyFacts are the facts of many machines alike. Of each but the first only those are held that are not as the first
// one's: a thousand lists of thousands that are the same take gigabytes.
type manyFacts struct {
	first int // which that is; -1 while there is none
	own   [][]lab.Fact
}

func newManyFacts(n int) *manyFacts { return &manyFacts{first: -1, own: make([][]lab.Fact, n)} }

// keep takes those of one of them.
func (m *manyFacts) keep(i int, all []lab.Fact) {
	if m.first < 0 {
		m.first, m.own[i] = i, all
		return
	}
	if m.own[i] = factsBeside(m.own[m.first], all); m.own[i] == nil {
		m.own[i] = []lab.Fact{} // the same, and known
	}
}

// kept are those of which something is known.
func (m *manyFacts) kept() []int {
	var all []int
	for i, own := range m.own {
		if own != nil {
			all = append(all, i)
		}
	}
	return all
}

// of are the facts of one of them.
func (m *manyFacts) of(i int) []lab.Fact {
	if i == m.first {
		return m.own[i]
	}
	type name struct{ key, about string }
	own := map[name]bool{}
	var all []lab.Fact
	for _, f := range m.own[i] {
		own[name{f.Key, f.About}] = true
		if f.Unknown != notThere {
			all = append(all, f)
		}
	}
	for _, f := range m.own[m.first] {
		if !own[name{f.Key, f.About}] {
			all = append(all, f)
		}
	}
	return all
}
