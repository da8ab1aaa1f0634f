package render

import (
	"regexp"
	"strings"
)

// plainNumber is one in either notation, which a spreadsheet takes for a number also behind a sign.
var plainNumber = regexp.MustCompile(`^[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?$`)

// endOfInterval is the end of one of headroom's own behind its comma, such as "[-7.3, -6.7]" or "[+28.4 µs, +31.6 µs]".
// It has no name of a function and no operator.
var endOfInterval = regexp.MustCompile(`^ ?[+-][0-9.]+ ?[%A-Za-zµ/]*\]$`)

// cellSeparators are what parts cells for a spreadsheet that reads a file by another separator than its own. Quotes do
// not help there: they are characters like others in the midst of a cell.
const cellSeparators = ",;\t\r\n"

// withoutFormula is the text of a cell that no spreadsheet carries out: a job called =HYPERLINK(…) would be one, and
// DDE starts programs. With an apostrophe before it, it is a text; so is each part behind a separator. Which beginnings
// there are, those of full width too, is from https://owasp.org/www-community/attacks/CSV_Injection
func withoutFormula(cell string) string {
	if plainNumber.MatchString(cell) {
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
		if begins != "" && strings.ContainsRune(beginnings, []rune(begins)[0]) && !plainNumber.MatchString(part) &&
			!endOfInterval.MatchString(part) {
			out.WriteByte('\'')
		}
		out.WriteString(cell[:end])
		cell, beginnings = cell[end:], "=+-@＝＋－＠"
	}
	return out.String()
}
