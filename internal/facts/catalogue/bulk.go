package catalogue

import "strings"

// bulk are the families that have thousands of members. They are stored and compared, but a page or a table that showed
// them would show nothing else.
func bulk() []string { return []string{"kernel.config.", "sysctl.", "module."} }

// Bulk reports whether a key belongs to one of the families with thousands of members.
func Bulk(key string) bool {
	for _, family := range bulk() {
		if strings.HasPrefix(key, family) {
			return true
		}
	}
	return false
}
