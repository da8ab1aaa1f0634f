package pasted

import (
	"bytes"

	"github.com/headroom/headroom/internal/prose"
)

// Named has the lines of a text that begin with the same name, without that name.
type Named struct {
	Name string
	Text []byte
}

// level is not a machine's name, but a program's word for its messages or its streams.
var level = prose.Pattern(`(?i)^\[?(?:trace|debug|info|notice|warn|warning|error|fatal|stdout|stderr|out|err|sum)\b`)

// ByName splits a text of several machines by the names before its lines, in the order of their first lines. It returns
// nil unless nine of ten lines have one of at least two names, and each name three lines.
//
//	node1: fio-3.36                 pdsh, clush
//	node2: fio-3.36
//	[pod/fio-0/fio] fio-3.36        kubectl logs --prefix
//	[pod/fio-1/fio] fio-3.36
//	fio-1  | fio-3.36               docker compose
//	fio-2  | fio-3.36
func ByName(text []byte) []Named {
	const fewest, tenth, mostNames = 3, 10, 10_000
	var all []Named
	lines, index := map[string]int{}, map[string]int{}
	with, without := 0, 0
	for line := range bytes.Lines(text) {
		before := NameBefore(line)
		label := string(bytes.Trim(before, " \t:|[]"))
		if label == "" || label == "$" || result().Match(before) || level().Match(before) {
			if len(bytes.TrimSpace(line)) > 0 {
				without++
			}
			continue
		}
		with++
		i, known := index[label]
		if !known {
			if len(all) == mostNames {
				return nil
			}
			i = len(all)
			index[label], all = i, append(all, Named{Name: label})
		}
		lines[label]++
		all[i].Text = append(all[i].Text, line[len(before):]...)
	}
	if len(all) < 2 || without*tenth > with+without {
		return nil
	}
	for _, n := range lines {
		if n < fewest {
			return nil
		}
	}
	return all
}
