package diagnosis

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/rule"
)

// Only differences from the first machine are held, and all facts remain available.
func TestCollectionKeepsFacts(t *testing.T) {
	machines := [][]lab.Fact{
		{{Key: "a", Value: "1"}, {Key: "b", About: "x", Value: "1"}, {Key: "c", Unknown: "closed"}},
		{{Key: "a", Value: "2"}, {Key: "c", Unknown: "closed"}, {Key: "d", Value: "4"}},
		{{Key: "a", Value: "1"}, {Key: "b", About: "x", Value: "1"}, {Key: "c", Unknown: "closed"}},
	}
	c := NewCollection(4, func(facts.Document) rule.Report { return rule.Report{} })
	c.Miss(3, "d", "", "closed")
	for _, i := range []int{1, 0, 2} {
		c.Add(i, fmt.Sprint(i), "", facts.Document{Facts: machines[i]})
	}
	for i, want := range machines {
		got := c.factsOf(i)
		slices.SortFunc(got, func(a, b lab.Fact) int { return strings.Compare(a.Key, b.Key) })
		if !slices.Equal(got, want) {
			t.Errorf("machine %d: %+v, want %+v", i, got, want)
		}
	}
	if got, most := c.Memory(), facts.Memory(slices.Concat(machines...)); got <= 0 || got > 2*most {
		t.Errorf("the facts take %d bytes; the machines have %d", got, most)
	}
	c.Add(3, "4", "", facts.Document{Facts: machines[1]})
	if len(c.facts[3]) > 0 {
		t.Errorf("held of a machine like the first: %+v", c.facts[3])
	}
}

func TestRedactedCollection(t *testing.T) {
	c := NewCollection(2, func(d facts.Document) rule.Report { return rule.Report{Target: d.Target} })
	c.Add(0, "ssh://storage-7", "ssh://storage-7", facts.Document{Target: "ssh://storage-7",
		Facts: []lab.Fact{{Key: "host.name", Value: "storage-7.example"}}})
	c.Miss(1, "ssh://alice@storage-8", "ssh://alice@storage-8", "no route to storage-8")
	c.LeaveOut("node worker-9 has a taint")
	text, err := json.Marshal(c.Redacted().Document(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"storage-7", "storage-8", "alice", "worker-9"} {
		if strings.Contains(string(text), name) {
			t.Errorf("%s is in %s", name, text)
		}
	}
}

func TestOn(t *testing.T) {
	var of []string
	for i := range 12 {
		of = append(of, fmt.Sprint("n", i+1))
	}
	for _, c := range []struct {
		on   []string
		want string
	}{
		{of, "on all 12"},
		{of[2:3], "on 1 of 12: n3"},
		{of[1:], "on 11 of 12: all but n1"},
		{of[:6], "on 6 of 12: n1, n2, n3, n4, n5, n6"},
		{of[:8], "on 8 of 12: n1, n2, n3, n4, n5, 3 more"},
	} {
		if got := On(c.on, of); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// In a complete configuration each option that is not mentioned is off; in a part of one it is unknown.
func TestWholeConfiguration(t *testing.T) {
	set, err := rule.BuiltInSet()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../kconfig/testdata/debian-6.12.111.config.gz")
	if err != nil {
		t.Fatal(err)
	}
	verdict := func(name string, data []byte) rule.Verdict {
		side, err := diff.Decode(name, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Ask(set, facts.Document{Target: name, Facts: side.Facts}, rule.Options{}).Findings {
			if f.Rule == "kasan" {
				return f.Verdict
			}
		}
		return ""
	}
	if v := verdict("whole", data); v == rule.Unknown {
		t.Errorf("KASAN is %q in a whole configuration without it", v)
	}
	if v := verdict("part", []byte("CONFIG_SMP=y\nCONFIG_LOCALVERSION=\"\"\n")); v != rule.Unknown {
		t.Errorf("KASAN is %q in two options", v)
	}
}
