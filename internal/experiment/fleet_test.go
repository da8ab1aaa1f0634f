package experiment

import (
	"reflect"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/results"
)

func TestRolesOfMembers(t *testing.T) {
	long := strings.Repeat("a", 60)
	for _, c := range []struct {
		prefix  string
		members []string
		want    []string
	}{
		{"", []string{"node-1.lan", "node-2.lan"}, []string{"node-1", "node-2"}},
		{"db-", []string{"node-1"}, []string{"db-node-1"}},
		{"pod-", []string{"1", "2"}, []string{"pod-1", "pod-2"}},
		{"", []string{"a.x", "a.y"}, []string{"node-1", "node-2"}},
		{"", []string{long, "b"}, []string{"node-1", "node-2"}},
		{"", []string{"all", "b"}, []string{"node-1", "node-2"}},
	} {
		if got := RolesOfMembers(c.prefix, c.members); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %v, want %v", c.members, got, c.want)
		}
	}
}

func TestHowManyAreAlike(t *testing.T) {
	run := lab.Run{Targets: []lab.RunTarget{
		{Role: "a", Facts: []lab.Fact{{Key: "pci.link.width", About: "nvme0", Value: "4"}}},
		{Role: "b", FactsAs: "a", Facts: []lab.Fact{{Key: "pci.link.width", About: "nvme0", Value: "2"}}},
		{Role: "c", FactsAs: "a"}, {Role: "d", FactsAs: "a"},
	}}
	if n, reported := results.CountSameValue(run, "pci.link.width", "nvme0", "4", "b", "a"); n != 2 || !reported {
		t.Errorf("%d, %v", n, reported)
	}
	if _, reported := results.CountSameValue(run, "kernel.cmdline.x", "", "4", "b", "a"); reported {
		t.Error("what no header tells of is told")
	}
}
