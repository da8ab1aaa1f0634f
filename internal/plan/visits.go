package plan

import "slices"

// Visits interleaves arms that are expensive to switch to: the machine is rebooted for each, or a setting is changed.
// In a block every arm is visited once and all of its cells are carried out there, so the visit is the unit. The order
// of the arms is random in each block, as in Rounds.
type Visits struct {
	arms     []VisitedArm
	terms    VisitTerms
	finished func(done []Done) []string
	seed     uint64
}

// VisitedArm is an arm with its cells; Repetitions of a cell count one visit.
type VisitedArm struct {
	ID    string
	Cells []Cell
}

// VisitTerms are the limits of a plan of visits.
type VisitTerms struct {
	// First is the number of the first block: 0 or 1, or more for a plan that follows another.
	First int
	// Blocks is the most blocks, and MinBlocks the least before an arm can be left out.
	Blocks, MinBlocks int
	// Budget is in seconds, 0 for none. The plan ends before a block that would exceed it, but not before the first
	// block has ended. A block with fewer cells left is expected to take proportionally less time.
	Budget float64
}

// InVisits returns a plan of at most a number of blocks. After each whole block, settled returns the arms and the cells
// that need no further visit, and they get none; nil visits all of them in every block.
func InVisits(arms []VisitedArm, terms VisitTerms, settled func(done []Done) []string, seed uint64) *Visits {
	return &Visits{arms: arms, terms: terms, finished: settled, seed: seed}
}

// Next is the first repetition in the order that has not ended.
func (p *Visits) Next(done []Done) (Repetition, bool) {
	ended := map[repetitionKey]bool{}
	seconds, longest := 0.0, 0.0
	perBlock := map[int]float64{}
	for _, d := range done {
		ended[keyOf(d.Repetition)] = true
		seconds += d.Seconds
		perBlock[d.Block] += d.Seconds
		longest = max(longest, perBlock[d.Block])
	}
	for block := p.First(); block <= p.Last(); block++ {
		arms := p.inBlock(block, done)
		if len(arms) == 0 {
			return Repetition{}, false
		}
		_, begun := perBlock[block]
		for _, r := range p.order(block, arms) {
			if ended[keyOf(r)] {
				continue
			}
			if !begun && block > 1 && p.terms.Budget > 0 && seconds+longest*p.shareOf(arms) > p.terms.Budget {
				return Repetition{}, false
			}
			return r, true
		}
	}
	return Repetition{}, false
}

// Unlimited is the plan without its budget.
func (p *Visits) Unlimited() *Visits {
	all := *p
	all.terms.Budget = 0
	return &all
}

// First is the number of its first block.
func (p *Visits) First() int { return max(1, p.terms.First) }

// Last is the number of the last block that the plan can have.
func (p *Visits) Last() int { return p.First() + p.terms.Blocks - 1 }

// Block is the whole order of one block, as it stands after what was done in those before it.
func (p *Visits) Block(block int, done []Done) []Repetition {
	return p.order(block, p.inBlock(block, done))
}

// inBlock are the arms that are visited in a block; none when all of them are settled. Whole blocks are looked at only:
// an arm is not left out in the midst of one.
func (p *Visits) inBlock(block int, done []Done) []VisitedArm {
	open := p.arms
	if p.finished == nil {
		return open
	}
	for look := p.First() + max(1, p.terms.MinBlocks); look <= block && len(open) > 0; look++ {
		var before []Done
		for _, d := range done {
			if d.Block < look {
				before = append(before, d)
			}
		}
		settled := p.finished(before)
		var left []VisitedArm
		for _, a := range open {
			a.Cells = slices.DeleteFunc(slices.Clone(a.Cells), func(c Cell) bool {
				return slices.Contains(settled, c.ID)
			})
			if !slices.Contains(settled, a.ID) && len(a.Cells) > 0 {
				left = append(left, a)
			}
		}
		open = left
	}
	return open
}

// shareOf is how much of a whole block these arms and their cells are.
func (p *Visits) shareOf(arms []VisitedArm) float64 {
	count := func(arms []VisitedArm) (n float64) {
		for _, a := range arms {
			for _, c := range a.Cells {
				n += float64(c.Repetitions)
			}
		}
		return n
	}
	whole := count(p.arms)
	if whole == 0 {
		return 1
	}
	return count(arms) / whole
}

// order of a block. An arm that is left out does not change the order of the others.
func (p *Visits) order(block int, arms []VisitedArm) []Repetition {
	places := random(p.seed, "arms", block).Perm(len(p.arms))
	var order []Repetition
	for _, at := range places {
		i := slices.IndexFunc(arms, func(a VisitedArm) bool { return a.ID == p.arms[at].ID })
		if i < 0 {
			continue
		}
		arm := arms[i]
		most := 0
		for _, c := range arm.Cells {
			most = max(most, c.Repetitions)
		}
		for turn := range most {
			cells := slices.Clone(arm.Cells)
			random(p.seed, arm.ID, block*maxRepetitionNumber+turn).Shuffle(len(cells), func(i, j int) {
				cells[i], cells[j] = cells[j], cells[i]
			})
			slices.SortStableFunc(cells, func(a, b Cell) int { return a.Stage - b.Stage })
			for _, cell := range cells {
				if turn >= cell.Repetitions {
					continue
				}
				order = append(order, Repetition{
					Cell: cell.ID, Arm: arm.ID, Number: (block-1)*cell.Repetitions + turn + 1, Block: block,
					Position: len(order) + 1,
				})
			}
		}
	}
	return order
}

// maxRepetitionNumber keeps the numbers of draws apart: no visit repeats a cell more often.
const maxRepetitionNumber = 1 << 16

func keyOf(r Repetition) repetitionKey { return repetitionKey{r.Cell, r.Number} }

type repetitionKey struct {
	cell   string
	number int
}
