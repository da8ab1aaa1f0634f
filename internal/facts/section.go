package facts

import (
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// Section has the facts about one object, or about one area of the machine, for people to read.
type Section struct {
	// Title is the area, and the object if there are several of its class: "cpu", "disk nvme0n1", "disk under test".
	Title string
	Rows  []Row
}

// Row is a fact with the part of its key that is not in the title.
type Row struct {
	Name string
	Fact lab.Fact
}

// Sections groups facts: the machine's by the first part of their key, those about an object by the object, in their
// original order.
func Sections(all []lab.Fact) []Section {
	var list []Section
	at := map[string]int{}
	for _, f := range all {
		area, rest, ok := strings.Cut(f.Key, ".")
		if !ok {
			rest = area
		}
		title := area
		if f.About != "" {
			title += " " + f.About
		} else if role, after, ok := strings.Cut(rest, "."); ok && role == "under-test" {
			title, rest = area+" under test", after
		}
		i, seen := at[title]
		if !seen {
			i = len(list)
			at[title] = i
			list = append(list, Section{Title: title})
		}
		list[i].Rows = append(list[i].Rows, Row{rest, f})
	}
	return list
}
