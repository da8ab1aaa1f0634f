package scheme

import (
	"regexp"
	"strings"

	"github.com/headroom/headroom/internal/factor/spot"
)

// Holds says whether a spot is one that a name stands for. The second text is the spot's path without links in it.
type Holds func(spot spot.Spot, resolved string) bool

// InFiles are the spots that are files, by patterns of their paths in which * stands for any text.
func InFiles(patterns ...string) Holds {
	match := Wildcard(patterns...)
	return func(s spot.Spot, resolved string) bool {
		return s.Kind == spot.InFile && (match.MatchString(s.Path) || match.MatchString(resolved))
	}
}

// Wildcard matches texts by a pattern in which * stands for anything.
func Wildcard(patterns ...string) *regexp.Regexp {
	var alternatives []string
	for _, p := range patterns {
		alternatives = append(alternatives, strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, ".*"))
	}
	return regexp.MustCompile("^(" + strings.Join(alternatives, "|") + ")$")
}
