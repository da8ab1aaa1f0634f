package render

import (
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// plainNumber matches a number in either notation, which a spreadsheet takes for a number even after a sign.
var plainNumber = prose.Pattern(`^[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?$`)

// endOfInterval matches the end of an interval that headroom printed, after the comma: "[-7.3, -6.7]" or "[+28.4 µs,
// +31.6 µs]". It contains no function name and no operator.
var endOfInterval = prose.Pattern(`^ ?[+-][0-9.]+ ?[%A-Za-zµ/]*\]$`)

// cellSeparators separate cells for a spreadsheet that reads a file with another separator than the file's. Quotes do
// not help there: inside a cell they are ordinary characters.
const cellSeparators = ",;\t\r\n"

// withoutFormula returns the text of a cell such that no spreadsheet executes it: a job named =HYPERLINK(…) would be a
// formula, and DDE starts programs. An apostrophe in front makes it a text; the same is done after each separator. The
// possible beginnings, full-width ones too, are from https://owasp.org/www-community/attacks/CSV_Injection
func withoutFormula(cell string) string {
	if plainNumber().MatchString(cell) {
		return cell
	}
	var out strings.Builder
	beginnings := "=+-@\t\r\n＝＋－＠"
	for cell != "" {
		end := strings.IndexAny(cell, cellSeparators) + 1
		if end == 0 {
			end = len(cell)
		}
		part := strings.TrimRight(cell[:end], cellSeparators)
		begins := strings.TrimLeft(cell[:end], " ")
		if begins != "" && strings.ContainsRune(beginnings, []rune(begins)[0]) && !plainNumber().MatchString(part) &&
			!endOfInterval().MatchString(part) {
			out.WriteByte('\'')
		}
		out.WriteString(cell[:end])
		cell, beginnings = cell[end:], "=+-@＝＋－＠"
	}
	return out.String()
}
