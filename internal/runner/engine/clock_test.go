package engine

import (
	"testing"
	"time"
)

// timestamps at some milliseconds.
func timestamps(ms ...int) []Timestamp {
	var all []Timestamp
	for _, m := range ms {
		all = append(all, Timestamp{Time: time.UnixMilli(1_000_000 + int64(m)), Uncertainty: time.Millisecond})
	}
	return all
}

func TestApart(t *testing.T) {
	for _, c := range []struct {
		at   []Timestamp
		want time.Duration
	}{
		{timestamps(0, 0), 0},
		{timestamps(300, 12, 250), 288 * time.Millisecond},
		{timestamps(5, 5, 5), 0},
	} {
		got, uncertainty := Skew(c.at)
		if got != c.want || uncertainty != 2*time.Millisecond {
			t.Errorf("%v: %s ± %s", c.at, got, uncertainty)
		}
	}
}
