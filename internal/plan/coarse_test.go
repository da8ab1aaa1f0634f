package plan

import (
	"slices"
	"testing"
)

func TestCoarse(t *testing.T) {
	for _, c := range []struct {
		n, most int
		keep    []int
		want    []int
	}{
		{9, 9, nil, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}}, {9, 20, nil, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
		{9, 3, nil, []int{0, 4, 8}}, {9, 5, nil, []int{0, 2, 4, 6, 8}}, {9, 4, nil, []int{0, 2, 4, 8}},
		{9, 3, []int{1}, []int{0, 1, 8}}, {9, 1, []int{5}, []int{5}}, {9, 1, nil, []int{0}}, {9, 2, nil, []int{0, 8}},
		{3, 2, []int{0, 1, 2}, []int{0, 1, 2}}, {4, 4, []int{1, 2}, []int{0, 1, 2, 3}}, {1, 3, nil, []int{0}},
		{0, 3, nil, nil},
	} {
		if got := Coarse(c.n, c.most, c.keep...); !slices.Equal(got, c.want) {
			t.Errorf("%d of %d, keeping %v: %v, want %v", c.most, c.n, c.keep, got, c.want)
		}
	}
}
