package render

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/headroom/headroom/internal/prose"
)

// column of a table for the terminal.
type column struct {
	title string
	cells []string
	// gap to the column on the left, in spaces; 0 means the usual two.
	gap int
	// figures are aligned by their unit: numbers to the right, units to the left.
	figures bool
	right   bool
	// drop is the order in which columns are dropped if the table is too wide; 0 means never.
	drop int
	// name is true if the column, like those before it, names rows.
	name bool
	// over is a title shared with neighbouring columns.
	over string
	// of is the title of the column that this one belongs to; they are dropped together.
	of string
	// cut is true if its texts can be shortened.
	cut bool
	// optional columns are removed if all their cells are empty.
	optional bool
	style    style
	// styles of single cells, if some differ.
	styles []style
}

// grid is a table whose columns fit.
type grid []column

// ShortestName is the length below which the name of a job is not shortened.
const ShortestName = 12

// fit drops columns until the table is at most width wide, and returns the titles of the dropped ones. If that is not
// enough the names are shortened. Ranks are unique among the columns.
func fit(all []column, width int) (g grid, left []string) {
	for _, c := range all {
		c.title, c.cells = prose.Inline(c.title), lines(c.cells)
		if c.figures {
			c.cells = alignUnits(c.cells)
		}
		if empty := !slices.ContainsFunc(c.cells, func(s string) bool { return strings.TrimSpace(s) != "" }); !empty ||
			!c.optional {
			g = append(g, c)
		}
	}
	for g.width() > width {
		gone := slices.MaxFunc(g, func(a, b column) int { return cmp.Compare(a.drop, b.drop) })
		if gone.drop <= 0 {
			break
		}
		if gone.title != "" {
			left = append(left, gone.title)
		}
		g = slices.DeleteFunc(g, func(c column) bool {
			return c.drop == gone.drop || gone.title != "" && c.of == gone.title
		})
	}
	slices.Reverse(left)
	// Shorten names first, then parameters; the terminal cuts the rest.
	for i := range 2 {
		if over := g.width() - width; over > 0 && len(g) > 1 {
			g[i].cells = shortened(g[i].cells, max(g[i].width()-over, ShortestName/(i+1)))
		}
	}
	if tight := g.tight(width); tight.width() <= width {
		return tight, left
	}
	return slices.DeleteFunc(g, func(c column) bool { return c.drop < 0 }), left
}

// tight reduces gaps to one space, from the left, as far as needed to fit the width.
func (g grid) tight(width int) grid {
	g = slices.Clone(g)
	for i := range g {
		if g.width() > width {
			g[i].gap = 1
		}
	}
	return g
}

func shortened(texts []string, room int) []string {
	short := make([]string, len(texts))
	for i, text := range texts {
		short[i] = Shorten(text, room)
	}
	return short
}

// parts splits the grid into parts to print below each other, each with the names of the rows and the next columns that
// fit. Columns that belong to a number stay with it.
func (g grid) parts(width int) []grid {
	names := max(0, slices.IndexFunc(g, func(c column) bool { return !c.name }))
	parts := []grid{g[:names]}
	for from := names; from < len(g); {
		to := from + 1
		for to < len(g) && g[to].gap == 1 {
			to++
		}
		last := &parts[len(parts)-1]
		if more := slices.Concat(*last, g[from:to]); len(*last) == names || more.width() <= width {
			*last, from = more, to
		} else {
			parts = append(parts, g[:names])
		}
	}
	return parts
}

// over returns the line above the titles; empty for none.
func (g grid) over() string {
	line, at := "", 0
	for i, c := range g {
		if i > 0 {
			at += c.space()
		}
		if c.over != "" && (i == 0 || c.over != g[i-1].over) {
			line += strings.Repeat(" ", max(min(i, 1), at-utf8.RuneCountInString(line))) + prose.Inline(c.over)
		}
		at += c.width()
	}
	return line
}

// lines returns texts without characters that break lines.
func lines(texts []string) []string {
	shown := make([]string, len(texts))
	for i, text := range texts {
		shown[i] = prose.Inline(text)
	}
	return shown
}

func (c column) width() int {
	w := utf8.RuneCountInString(c.title)
	for _, cell := range c.cells {
		w = max(w, utf8.RuneCountInString(cell))
	}
	return w
}

func (c column) space() int {
	if c.gap > 0 {
		return c.gap
	}
	return 2
}

// numbers counts the columns without signs.
func (g grid) numbers() int {
	n := 0
	for _, c := range g {
		if c.style != alarm {
			n++
		}
	}
	return n
}

func (g grid) width() int {
	w := 0
	for i, c := range g {
		if i > 0 {
			w += c.space()
		}
		w += c.width()
	}
	return w
}

// lines returns the lines of the table, the titles first.
func (g grid) lines(o Options) []string {
	if len(g) == 0 {
		return nil
	}
	lines := make([]string, 1+len(g[0].cells))
	for i := range lines {
		var b strings.Builder
		for j, c := range g {
			if j > 0 {
				b.WriteString(strings.Repeat(" ", c.space()))
			}
			text, style := c.title, faint
			if i > 0 {
				if text, style = c.cells[i-1], c.style; c.styles != nil {
					style = c.styles[i-1]
				}
			}
			padding := strings.Repeat(" ", c.width()-utf8.RuneCountInString(text))
			if c.figures || c.right {
				b.WriteString(padding + style.paint(text, o))
			} else {
				b.WriteString(style.paint(text, o) + padding)
			}
		}
		lines[i] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// alignUnits pads numbers on the left and their units on the right, so that both are aligned.
func alignUnits(cells []string) []string {
	numbers, units := make([]string, len(cells)), make([]string, len(cells))
	number, unit := 0, 0
	for i, cell := range cells {
		end := strings.LastIndexAny(cell, "0123456789") + 1
		numbers[i], units[i] = cell[:end], cell[end:]
		number = max(number, utf8.RuneCountInString(numbers[i]))
		unit = max(unit, utf8.RuneCountInString(units[i]))
	}
	out := make([]string, len(cells))
	for i := range cells {
		if cells[i] == "" {
			continue
		}
		out[i] = strings.Repeat(" ", number-utf8.RuneCountInString(numbers[i])) + numbers[i] +
			units[i] + strings.Repeat(" ", unit-utf8.RuneCountInString(units[i]))
	}
	return out
}

// Shorten cuts a text to a width and marks the cut with a dot.
func Shorten(text string, width int) string {
	text = prose.Inline(text)
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:max(width-1, 0)]) + "…"
}

// apart shortens names to a room, or to the shortest length that keeps distinct names distinct. Words that all names
// share are removed first, since readers look for the differences.
func apart(names []string, room int) []string {
	names = withoutShared(slices.Clone(names), room)
	different := func(names []string) int {
		return len(slices.Compact(slices.Sorted(slices.Values(names))))
	}
	longest := 0
	for _, name := range names {
		longest = max(longest, utf8.RuneCountInString(name))
	}
	for ; ; room++ {
		short := make([]string, len(names))
		for i, name := range names {
			short[i] = withoutMiddle(name, room)
		}
		if room >= longest || different(short) == different(names) {
			return short
		}
	}
}

// withoutShared replaces words that all names have at the same place, after the first word, by a dot: as many as needed
// to fit into a room, the last of them first. Real rows:
//
//	read randread 4k target=here    read randread … target=here
//	read randread 4k target=all     read randread … target=all
func withoutShared(names []string, room int) []string {
	words := make([][]string, len(names))
	for i, name := range names {
		words[i] = strings.Fields(name)
	}
	end := 1
	for len(names) > 1 && !slices.ContainsFunc(words, func(w []string) bool {
		return len(w) < end+2 || w[end] != words[0][end]
	}) {
		end++
	}
	for from := end - 1; from >= 1 && slices.ContainsFunc(names, func(name string) bool {
		return utf8.RuneCountInString(name) > room
	}); from-- {
		for i, w := range words {
			names[i] = strings.Join(slices.Concat(w[:from], []string{"…"}, w[end:]), " ")
		}
	}
	return names
}
