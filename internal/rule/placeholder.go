package rule

import (
	"regexp"
	"strings"
)

// Placeholder is a word in commands that the reader replaces.
type Placeholder struct{ Word, Means string }

// Placeholders returns the placeholders of the built-in rules.
func Placeholders() []Placeholder {
	return []Placeholder{
		{"DIR", "a directory on the storage in question"},
		{"DEVICE", "a disk (an empty one; ladder only reads, so there it may be in use)"},
		{"NAME", "the disk, array or controller"},
		{"SERVER", "a machine at the other end of the network, like ssh://db1, with --address where that network has " +
			"another address of it"},
		{"GUEST", "the virtual machine"},
		{"CLASS", "the StorageClass in question"},
		{"OTHER", "the one that is changed"},
		{"FILE", "the description of a guest to start"},
		{"TARGET", "a machine that headroom restarts for each level: a guest (qemu:FILE), or one that --reboot " +
			"names, too; for this one: headroom run before and after its reboot, then headroom compare"},
	}
}

// PlaceholdersIn explains the words in capitals in commands.
func PlaceholdersIn(commands string) string {
	var parts []string
	for _, p := range Placeholders() {
		if regexp.MustCompile(`\b` + p.Word + `\b`).MatchString(commands) {
			parts = append(parts, p.Word+" is "+p.Means)
		}
	}
	return strings.Join(parts, "; ")
}
