package rule

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
)

// host is a machine of a field report; see testdata/hosts/README.md.
type host struct {
	Report  string     `yaml:"report"`
	Finds   []string   `yaml:"finds"`
	Nothing bool       `yaml:"nothing"`
	Facts   []hostFact `yaml:"facts"`
}

type hostFact struct {
	Fact  string `yaml:"fact"`
	About string `yaml:"about"`
	Value string `yaml:"value"`
	Says  string `yaml:"says"`
	So    string `yaml:"so"`
}

func hosts(t *testing.T) map[string]host {
	t.Helper()
	files, err := filepath.Glob("testdata/hosts/*.yaml")
	if err != nil || len(files) < 8 {
		t.Fatalf("only %d hosts: %v", len(files), err)
	}
	all := map[string]host{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var h host
		if err := yaml.Unmarshal(data, &h); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all[filepath.Base(f)] = h
	}
	return all
}

func (h host) facts(t *testing.T) []lab.Fact {
	t.Helper()
	index := catalogue.NewIndex()
	var list []lab.Fact
	for _, f := range h.Facts {
		d, ok := index.Lookup(f.Fact)
		if !ok || f.Says == "" || f.Value == "" {
			t.Errorf("%s of %s: in the catalogue %v, rests on %q", f.Fact, h.Report, ok, f.Says)
		}
		if d.Mark == catalogue.Computed {
			t.Errorf("%s of %s must follow from other facts", f.Fact, h.Report)
		}
		list = append(list, lab.Fact{Key: f.Fact, About: f.About, Value: f.Value, Source: h.Report})
	}
	return append(list, ceiling.Derive(list)...)
}

// TestReports asks about the machines of field reports whose authors needed days: the cause that the report names is
// the first finding. Where a report ends without a fault there must be no finding.
func TestReports(t *testing.T) {
	set := builtInSet(t)
	for name, h := range hosts(t) {
		t.Run(name, func(t *testing.T) {
			var found []string
			for _, f := range set.Evaluate(h.facts(t), Options{All: true}).Findings {
				if f.Verdict == Found {
					found = append(found, f.Rule)
				} else if slices.Contains(h.Finds, f.Rule) {
					t.Logf("%s: %s %s %v", f.Rule, f.Verdict, f.Note, f.Missing)
				}
			}
			t.Logf("%s: %q", h.Report, found)
			switch {
			case h.Nothing && len(found) > 0:
				t.Errorf("the report ends content, the rules find %q", found)
			case !h.Nothing && len(h.Finds) == 0:
				t.Error("the host says neither what is found nor that nothing is")
			case !h.Nothing && (len(found) < len(h.Finds) || !slices.Equal(found[:len(h.Finds)], h.Finds)):
				t.Errorf("found %q, first should be %q", found, h.Finds)
			}
		})
	}
}

func builtInSet(t *testing.T) *Set {
	t.Helper()
	set, err := BuiltInSet()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestWhatMustStay is the end of the 200 Gbit/s report: numa=off has to stay. The remedies are what its authors did
// then (the CPUs of one socket) and what they also could have done, never to remove the argument.
func TestWhatMustStay(t *testing.T) {
	report := builtInSet(t).Evaluate(hosts(t)["beeline-numa-off.yaml"].facts(t),
		Options{Keep: []string{"cmdline:numa=off"}})
	i := slices.IndexFunc(report.Findings, func(f Finding) bool {
		return f.Rule == "numa-one-node" && f.Verdict == Found
	})
	if i < 0 {
		t.Fatal("keeping a setting hides its finding")
	}
	f := report.Findings[i]
	// The finding shows which of the two sockets each adapter is attached to.
	sockets := map[string]int{}
	for _, e := range f.Evidence {
		if e.Fact == "nic.socket" {
			sockets[e.Value] = len(e.About)
		}
	}
	if len(sockets) != 2 || sockets["0"] != 4 || sockets["1"] != 4 {
		t.Errorf("sockets: %v", sockets)
	}
	if len(f.Kept) == 0 || f.Effect == "" {
		t.Errorf("what keeping costs is not said: %q, %q", f.Kept, f.Effect)
	}
	oneSocket := false
	for _, r := range f.Remedies {
		if strings.Contains(r.Set, "numa") || strings.Contains(r.Text, "numa=off") {
			t.Errorf("offered all the same: %s %s", r.Set, r.Text)
		}
		oneSocket = oneSocket || strings.Contains(r.Text, "CPUs of one socket")
	}
	if !oneSocket {
		t.Errorf("the CPUs of one socket are not offered: %+v", f.Remedies)
	}
}
