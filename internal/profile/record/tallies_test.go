package record

import (
	"slices"
	"testing"
)

// Neighbouring bursts are merged if there are many, and none is lost.
func TestManyBursts(t *testing.T) {
	for _, c := range []struct {
		bursts int
		want   []uint64 // bursts in each part
	}{
		{0, nil}, {3, []uint64{1, 1, 1}}, {16, slices.Repeat([]uint64{1}, 16)},
		{17, []uint64{2, 2, 2, 2, 2, 2, 2, 2, 1}}, {18, slices.Repeat([]uint64{2}, 9)},
		{70, []uint64{8, 8, 8, 8, 8, 8, 8, 8, 6}},
	} {
		var all tallies
		for range c.bursts {
			one := newTally()
			one.calls[counted{place: 1}], one.events = 1, 2
			all.add(one)
		}
		var got []uint64
		for _, part := range all.parts {
			got = append(got, part.calls[counted{place: 1}])
		}
		if sum := all.all(); !slices.Equal(got, c.want) || sum.events != uint64(2*c.bursts) {
			t.Errorf("%d bursts are %v with %d events", c.bursts, got, sum.events)
		}
	}
}
