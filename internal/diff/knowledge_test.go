package diff

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts/catalogue"
)

func TestKnowledge(t *testing.T) {
	k := knowledge(t)
	release := regexp.MustCompile(`^\d+\.\d+$`)
	name := regexp.MustCompile(`^[A-Za-z0-9_.*/-]+$`)
	options, index := 0, catalogue.NewIndex()
	for _, e := range k.exact {
		kind, subject := e.about()
		bad := func(format string, args ...any) {
			t.Helper()
			t.Errorf(e.subject()+": "+format, args...)
		}
		set := 0
		for _, s := range []string{e.Option, e.Argument, e.Sysctl, e.Module, e.Fact} {
			if s != "" {
				set++
			}
		}
		if set != 1 {
			bad("it names %d things, want one", set)
		}
		if !name.MatchString(subject) {
			bad("no name")
		}
		if e.Weight < 0 || e.Weight > 1 {
			bad("weight %v", e.Weight)
		}
		if e.Why == "" || strings.HasSuffix(e.Why, ".") || len(e.Why) > 160 {
			bad("why: %q", e.Why)
		}
		if e.Area == "" {
			bad("no area")
		}
		if kind == optionKind && !strings.Contains(subject, "*") {
			options++
		}
		if kind == factKind && subject != "*" {
			if _, ok := index.Lookup(strings.TrimSuffix(subject, "*")); !ok &&
				!slices.ContainsFunc(catalogue.All(),
					func(d catalogue.Definition) bool { return matches(subject, d.Key) }) {
				bad("the catalogue has no such fact")
			}
		}
		for _, key := range e.Runtime {
			if _, ok := index.Lookup(key); !ok {
				bad("the catalogue has no fact %s", key)
			}
		}
		if kind, _ := kindOf(e.Same); e.Same != "" && kind == factKind {
			bad("same: %s is no sysctl and no parameter", e.Same)
		}
		if e.Implied != "" && (e.Since == "") == (e.Until == "") || e.Since+e.Until != "" &&
			!release.MatchString(e.Since+e.Until) {
			bad("since %q, implied %q", e.Since, e.Implied)
		}
		if len(e.boot) > 0 && kind != optionKind {
			bad("only options are overridden")
		}
		if e.Effect != "" && e.source == nil {
			bad("an effect without a source")
		}
		if e.source != nil {
			if u, err := url.Parse(e.source.URL); err != nil || u.Host == "" || e.source.Title == "" {
				bad("source %+v", e.source)
			}
		}
	}
	if options < 400 {
		t.Errorf("%d options are known by name, want several hundred", options)
	}
	t.Logf("%d entries, %d options by name", len(k.exact), options)
	known := map[string]bool{}
	for _, c := range []string{"debian-6.1.0-50", "debian-6.12.111", "talos-6.6.57-iommu-lazy"} {
		for option := range config(t, c) {
			known[option] = true
		}
	}
	for _, names := range k.choices {
		if len(names) < 2 || !slices.ContainsFunc(names, func(n string) bool {
			return known[n] || k.named(optionKind, n)
		}) {
			t.Errorf("choice %v", names)
		}
	}
	for _, names := range k.families {
		if len(names) < 2 || strings.Contains(names[0], "*") {
			t.Errorf("family %v", names)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"A", "A", true}, {"A", "AB", false}, {"A*", "AB", true}, {"A*", "A", true}, {"A*", "BA", false},
		{"*", "", true},
		{"*_DEBUG", "XFS_DEBUG", true}, {"*_DEBUG", "DEBUG_XFS", false},
		{"INLINE_*_UNLOCK*", "INLINE_READ_UNLOCK_IRQ", true},
		{"A*B*C", "AxByC", true}, {"A*B*C", "AxC", false}, {"AB*BA", "ABA", false},
	} {
		if got := matches(c.pattern, c.name); got != c.want {
			t.Errorf("%s on %s: %v", c.pattern, c.name, got)
		}
	}
}

func TestWeigh(t *testing.T) {
	for _, c := range []struct {
		slow, a, b string
		weight     float64
		slower     string
	}{
		{"y", "y", "n", 1, "a"}, {"y", "n", "m", 1, "b"}, {"n", "y", "n", 1, "b"}, {"y", "y", "m", sameButBuilt, ""},
		{"high", "1000", "250", 1, "a"}, {"low", "1023", "1024", 0.05, "a"},
		{"low", "4096 65536 4194304", "4096 65536 16777216", 1, "a"},
		{"low", "0x10", "0x40", 1, "a"}, {"high", "none", "3", 0.5, ""}, {"", "x", "y", 1, ""},
		{"bfq|kyber", "none", "bfq", 1, "b"}, {"bfq|kyber", "kyber", "bfq", 0.5, ""},
		{"auto|absent", "", "off", 1, "a"}, {"on|*", "", "FZ", 1, "b"},
	} {
		e := &entry{Slow: c.slow, Weight: 1}
		if w, s := e.weigh(c.a, c.b); w != c.weight || s != c.slower {
			t.Errorf("slow %q, %q against %q: %v, slower %q; want %v, %q", c.slow, c.a, c.b, w, s, c.weight, c.slower)
		}
	}
}
