package factor

import (
	"regexp"
	"strings"
)

// Holds says whether a spot is one that a name stands for. The second text is the spot's path without links in it.
type Holds func(spot Spot, resolved string) bool

// inFiles are the spots that are files, by patterns of their paths in which * stands for any text.
func inFiles(patterns ...string) Holds {
	match := wildcard(patterns...)
	return func(s Spot, resolved string) bool {
		return s.Kind == inFile && (match.MatchString(s.Path) || match.MatchString(resolved))
	}
}

// wildcard matches texts by a pattern in which * stands for anything.
func wildcard(patterns ...string) *regexp.Regexp {
	var alternatives []string
	for _, p := range patterns {
		alternatives = append(alternatives, strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, ".*"))
	}
	return regexp.MustCompile("^(" + strings.Join(alternatives, "|") + ")$")
}
