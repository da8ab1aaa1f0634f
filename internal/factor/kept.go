package factor

import (
	"slices"
	"strings"

	"headroom/internal/factor/scheme"
)

// IsKept says whether a factor must stay as it is, by its name; the journal's Keep takes texts of the same form. It
// serves factors that no journal changes, and refusals before anything is done.
func IsKept(texts []string, factorName string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		name, _, _ := strings.Cut(text, "=")
		_, own := SplitRole(name)
		_, bare := SplitRole(factorName)
		return concerns(name, factorName) && scheme.Wildcard(own).MatchString(bare)
	})
}
