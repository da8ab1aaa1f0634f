package factor

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
)

// IsKept reports, by its name, whether a factor must stay unchanged; the journal's Keep takes texts of the same form. A
// text without a device keeps all devices: queue:scheduler also keeps queue@md0:scheduler. IsKept serves factors that
// no journal changes, and refusals before any change.
func IsKept(texts []string, factorName string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		name, _, _ := strings.Cut(text, "=")
		_, own := SplitRole(name)
		_, bare := SplitRole(factorName)
		match := scheme.Wildcard(own)
		return concerns(name, factorName) && (match.MatchString(bare) || match.MatchString(WithoutDevice(bare)))
	})
}
