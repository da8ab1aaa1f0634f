package prose

import (
	"fmt"
	"strings"
)

// Names returns the first few names, and how many more there are.
func Names(names []string, between string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, between)
	}
	return fmt.Sprintf("%s%s%d more", strings.Join(names[:most-1], ", "), between, len(names)-most+1)
}
