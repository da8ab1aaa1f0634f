package factor

import (
	"slices"
	"strings"

	"headroom/internal/factor/scheme"
)

// IsKept says whether a factor is among those that must stay as they are, by its name; Keep takes texts of the same
// form. It is for factors that no journal changes, and for saying so before anything is done.
func IsKept(texts []string, factorName string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		name, _, _ := strings.Cut(text, "=")
		_, own := SplitRole(name)
		_, bare := SplitRole(factorName)
		return concerns(name, factorName) && scheme.Wildcard(own).MatchString(bare)
	})
}
