package facts

import (
	"reflect"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func TestDiffering(t *testing.T) {
	other := []lab.Fact{{Key: "a", Value: "1"}, {Key: "b", About: "x", Value: "2"}, {Key: "c", Value: "3"}}
	own := []lab.Fact{{Key: "a", Value: "1"}, {Key: "b", About: "x", Value: "4"}, {Key: "d", Value: "5"}}
	want := []lab.Fact{{Key: "b", About: "x", Value: "4"}, {Key: "d", Value: "5"},
		{Key: "c", Unknown: "it is not there"}}
	if got := Differing(other, own); !reflect.DeepEqual(got, want) {
		t.Errorf("Differing: %+v, want %+v", got, want)
	}
}
