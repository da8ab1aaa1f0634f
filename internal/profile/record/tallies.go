package record

// mostParts is the number of parts in which the counts of a recording are kept, to determine how much bursts differ.
const mostParts = 16

// tallies has the counts of bursts, in their order. If there are many, a part is the sum of neighbours.
type tallies struct {
	parts  []*tally
	each   int // bursts in a part
	inLast int // bursts that the last part has so far
}

// add adds the counts of another burst. It takes ownership of the burst's tally.
func (t *tallies) add(burst *tally) {
	if t.inLast < t.each {
		t.parts[len(t.parts)-1].add(burst)
		t.inLast++
		return
	}
	if len(t.parts) == mostParts {
		for i := range mostParts / 2 {
			t.parts[2*i].add(t.parts[2*i+1])
			t.parts[i] = t.parts[2*i]
		}
		t.parts, t.each = t.parts[:mostParts/2], 2*t.each
	}
	t.parts, t.inLast, t.each = append(t.parts, burst), 1, max(t.each, 1)
}

// all returns the counts of all bursts together.
func (t *tallies) all() *tally {
	sum := newTally()
	for _, part := range t.parts {
		sum.add(part)
	}
	return sum
}
