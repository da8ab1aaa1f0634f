package rule

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/golden"
)

const (
	// minHealthy is the minimum number of hosts.
	minHealthy = 8
	// maxUnknown is how many rules may be undecided on a host that root has read: otherwise silence would mean nothing.
	maxUnknown = 7
	// minClear is how many rules must have decided that there is no finding.
	minClear = 45
	// maxFindings is how many findings the owner of a healthy machine should have to read.
	maxFindings = 10
)

func healthyHosts(t *testing.T) map[string][]lab.Fact {
	t.Helper()
	names, err := filepath.Glob("testdata/healthy/*.yaml")
	if err != nil || len(names) < minHealthy {
		t.Fatalf("only %d hosts: %v", len(names), err)
	}
	all := map[string][]lab.Fact{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var list []struct{ Fact, About, Value, Unknown string }
		if err := yaml.Unmarshal(data, &list); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		index := catalogue.NewIndex()
		var host []lab.Fact
		for _, f := range list {
			d, ok := index.Lookup(f.Fact)
			switch {
			case !ok:
				t.Errorf("%s: there is no fact %s", name, f.Fact)
			case d.Mark == catalogue.Computed:
				t.Errorf("%s: %s follows from other facts", name, f.Fact)
			case f.Unknown == "" && !holds(d.Kind, f.Value):
				t.Errorf("%s: %s of %s can't be %q", name, f.Fact, f.About, f.Value)
			}
			host = append(host, lab.Fact{Key: f.Fact, About: f.About, Value: f.Value, Unknown: f.Unknown,
				Source: "fixture"})
		}
		all[strings.TrimSuffix(name, ".yaml")] = append(host, ceiling.Derive(host)...)
	}
	return all
}

// TestHealthyHosts evaluates all rules for machines with the default configuration of their systems. None has a finding
// of high severity, and few rules are undecided. The findings are in the golden files, so that a rule that begins to
// report ordinary machines is noticed in review.
func TestHealthyHosts(t *testing.T) {
	set := builtInSet(t)
	for name, host := range healthyHosts(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			var b strings.Builder
			found, unknown := 0, 0
			clear := map[string]bool{}
			for _, f := range set.Evaluate(host, Options{All: true}).Findings {
				about := ""
				if len(f.About) > 0 {
					about = fmt.Sprintf(" (%s)", strings.Join(f.About, ", "))
				}
				switch f.Verdict {
				case Clear:
					clear[f.Rule] = true
				case Found:
					found++
					if f.Severity == "high" {
						t.Errorf("%s is of high severity: %+v", f.Rule, f.Evidence)
					}
					fmt.Fprintf(&b, "%s %s: %s%s\n", f.Severity, f.Rule, f.Title, about)
				case Unknown:
					unknown++
					var missing []string
					for _, m := range f.Missing {
						missing = append(missing, m.Fact)
					}
					fmt.Fprintf(&b, "unknown %s%s for want of %s\n", f.Rule, about, strings.Join(missing, ", "))
				}
			}
			for _, f := range set.Evaluate(host, Options{Unquantified: true}).Findings {
				if f.Verdict == Found && !strings.Contains(b.String(), " "+f.Rule+": ") {
					fmt.Fprintf(&b, "unpriced %s: %s\n", f.Rule, f.Title)
				}
			}
			if found > maxFindings {
				t.Errorf("%d findings, more than %d", found, maxFindings)
			}
			if unknown > maxUnknown {
				t.Errorf("%d rules are left open, more than %d", unknown, maxUnknown)
			}
			t.Logf("%d findings, %d clear, %d unknown", found, len(clear), unknown)
			if len(clear) < minClear {
				t.Errorf("only %d rules are clear, fewer than %d", len(clear), minClear)
			}
			golden.Equal(t, name+".golden", b.String())
		})
	}
}
