package render

import (
	"regexp"
	"strings"
)

// plainNumber is one in either notation, which a spreadsheet takes for a number also behind a sign.
var plainNumber = regexp.MustCompile(`^[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?$`)

// withoutFormula is the text of a cell that no spreadsheet carries out: a job called =HYPERLINK(…) would be one, and
// DDE starts programs. With an apostrophe before it, it is a text. Which beginnings there are, those of full width too,
// is from https://owasp.org/www-community/attacks/CSV_Injection
func withoutFormula(cell string) string {
	begins := strings.TrimLeft(cell, " ")
	if begins == "" || !strings.ContainsRune("=+-@\t\r\n＝＋－＠", []rune(begins)[0]) || plainNumber.MatchString(cell) {
		return cell
	}
	return "'" + cell
}
