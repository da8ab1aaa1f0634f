package pasted

import (
	"bytes"
	"regexp"
	"strconv"

	"github.com/headroom/headroom/internal/prose"
)

// aPrefix finds the prefix of one line after another: where it begins and ends; nil if a line has none.
type aPrefix func(line []byte) []int

// prefixes returns the kinds of prefixes that all lines of a text can have. Each call returns new functions, since some
// of them compare with previous lines. The first | of a Markdown table is not a box.
func prefixes(text []byte) (kinds []aPrefix) {
	for _, pattern := range []*regexp.Regexp{quotation(), dateAndTime(), timeOfDay(), journal(), box()} {
		if pattern != box() || !markdownRule().Match(text) {
			kinds = append(kinds, pattern.FindIndex)
		}
	}
	return append(kinds, numbered(), named())
}

var (
	quotation   = prose.Pattern(`^[ \t]*>`)
	dateAndTime = prose.Pattern(
		`^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?(?: |$)`)
	timeOfDay = prose.Pattern(`^\[?(?:\d\d:\d\d:\d\d|1\d{9})(?:[.,]\d{1,9})?\]?(?: |$)`) // or seconds since 1970
	journal   = prose.Pattern(`^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]+ [\w./@-]+(?:\[\d+\])?:(?: |$)`)
	box       = prose.Pattern(`^[│┃|]`)
	// markdownRule is the line below the titles of a Markdown table.
	markdownRule = prose.Pattern(`(?m)^[> \t]*\|[ \t]*:?-+:?[ \t]*\|[-:| \t]*\r?$`)
	boxEnd       = prose.Pattern(`[ \t]*[│┃|][ \t\r]*$`)
	lineNumber   = prose.Pattern(`^ *(\d{1,9})(?:[\t:|]|[.)] | [│┃]? ?|$)`)
	// name is the same prefix of all lines: a name, a prompt, or blanks.
	name = prose.Pattern(`^(?:\[[\w./-]+\] |[\w.-]+ *\| |[\w.-]+: |[A-Z]+:\w+:|\$ |[ \t]+)`)
	// result begins lines of fio. Lines of one direction, as grep leaves them, have it in common.
	result = prose.Pattern(`(?i)^(?:read|write|trim|mixed|[sc]?lat|bw|iops|cpu)\b`)
)

// numbered returns the kind of numbers that grow by one from line to line.
func numbered() aPrefix {
	next := -1
	return func(line []byte) []int {
		m := lineNumber().FindSubmatchIndex(line)
		if m == nil {
			next = max(0, next) // after the first line, a number belongs to a table
			return nil
		}
		n, _ := strconv.Atoi(string(line[m[2]:m[3]])) // the pattern admits only short numbers
		if next >= 0 && n != next {
			return nil
		}
		next = n + 1
		return m[:2]
	}
}

// NameBefore returns the name, the prompt or the blanks that a program may have written before this line and all
// others; nil if there is none.
func NameBefore(line []byte) []byte { return name().Find(line) }

// named returns the kind of a name that is the same before all lines, including the first.
func named() aPrefix {
	var found []byte
	first := true
	return func(line []byte) []int {
		if first {
			found, first = name().Find(line), false
			if result().Match(found) {
				found = nil
			}
		}
		switch {
		case len(found) == 0:
			return nil
		case bytes.HasPrefix(line, found):
			return []int{0, len(found)}
		case bytes.Equal(line, bytes.TrimRight(found, " \t")): // before an empty line
			return []int{0, len(line)}
		}
		return nil
	}
}

// sampled is how many lines are examined before all lines of a text are.
const sampled = 64

// WithoutPrefix returns a text without the prefix that programs and people put before each of its lines, one kind of
// it; nil if the lines have none.
//
//	> > read: IOPS=141k, BW=17.2GiB/s                         a mail or Markdown
//	2026-11-29T10:00:00.123456789Z   "fio version" : …        kubectl logs --timestamps
//	[pod/fio-0/fio] Starting 10 threads                       kubectl logs --prefix
//	fio-1  | Starting 10 threads                              docker compose
//	node1: Starting 10 threads                                pdsh
//	Nov 29 10:00:00 node1 fio[4711]: Starting 10 threads      the journal
//	     5	Starting 10 threads                               cat -n
//	DEBUG:root:Starting 10 threads                            Python's logging
//	│ Starting 10 threads                                 │   a box
func WithoutPrefix(text []byte) []byte {
	sample := bytes.SplitN(text, []byte("\n"), sampled+1)
	sample = sample[:min(len(sample), sampled)]
	for i, kind := range prefixes(text) {
		if cutEach(sample, kind) == nil {
			continue
		}
		lines := cutEach(bytes.Split(text, []byte("\n")), prefixes(text)[i])
		if lines == nil {
			continue
		}
		if box().Match(text) && !markdownRule().Match(text) {
			for k, line := range lines {
				lines[k] = boxEnd().ReplaceAll(line, nil)
			}
		}
		return bytes.Join(lines, []byte("\n"))
	}
	return nil
}

// cutEach returns the lines without their prefix, and without a blank that follows it in all of them. It returns nil if
// fewer than three have one, or if more than a tenth, and more than some, have none: a page around a quotation stays.
func cutEach(lines [][]byte, prefix aPrefix) [][]byte {
	const fewest, mostWithout, some = 3, 10, 5
	cut := make([][]byte, len(lines))
	with, without := 0, 0
	blank := true
	for i, line := range lines {
		cut[i] = line
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if m := prefix(bytes.TrimRight(line, "\r")); m != nil && m[1] > 0 {
			cut[i] = line[m[1]:]
			blank = blank && (len(bytes.TrimSpace(cut[i])) == 0 || cut[i][0] == ' ')
			with++
		} else if without++; without > some+i/mostWithout {
			return nil
		}
	}
	if with < fewest || without > with {
		return nil
	}
	for i, line := range cut {
		if blank && len(line) < len(lines[i]) {
			cut[i] = bytes.TrimPrefix(line, []byte(" "))
		}
	}
	return cut
}
