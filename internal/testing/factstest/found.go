package factstest

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
)

func ValueOf(facts []lab.Fact, key string) string {
	for _, f := range facts {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// Said returns the value of a fact: "unknown: reason" if it is unknown, "" if there is no such fact.
func Said(facts []lab.Fact, key, thing string) string {
	for _, f := range facts {
		if f.Key == key && f.About == thing {
			if f.Unknown != "" {
				return "unknown: " + f.Unknown
			}
			return f.Value
		}
	}
	return ""
}

// CheckLines fails if a value or a key that a parser found contains a line break.
func CheckLines(t *testing.T, found []lab.Fact) {
	t.Helper()
	for _, f := range found {
		if f.Value == "" && f.Unknown == "" || strings.ContainsAny(f.Value, "\n\x00") ||
			strings.ContainsAny(f.Key, " \n") {
			t.Errorf("%q of %q: %q, %q", f.Key, f.About, f.Value, f.Unknown)
		}
	}
}

// KindsByKey returns the kinds of the keys of some areas of the catalogue.
func KindsByKey(areas ...[]catalogue.Definition) map[string]catalogue.Kind {
	kinds := map[string]catalogue.Kind{}
	for _, d := range slices.Concat(areas...) {
		kinds[d.Key] = d.Kind
	}
	return kinds
}

// CheckKinds makes the checks of TestEveryFactIsInTheCatalogue, and is fast enough for a fuzz test.
func CheckKinds(t *testing.T, found []lab.Fact, kinds map[string]catalogue.Kind) {
	t.Helper()
	for _, f := range found {
		if kind, ok := kinds[f.Key]; !ok || f.Unknown == "" && !kind.Holds(f.Value) {
			t.Errorf("%+v is not what the catalogue says", f)
		}
	}
}
