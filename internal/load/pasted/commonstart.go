package pasted

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headroom/headroom/internal/prose"
)

// WithoutCommonStart returns a text without the prefix that nine of ten of its lines share; nil if they share none.
// Numbers in the prefix can differ from line to line, except in names such as node7. Results can share a prefix, too,
// so the caller has to find out which text gives more results.
//
//	2026-11-29T10:00:00.123456789Z stdout F Starting 10 threads    a container's log
//	I1129 10:00:00.123456       1 main.go:12] Starting 10 threads  klog
//	time="2026-11-29T10:00:00Z" level=info msg="fio-3.36"          logrus
//	[   12.310000] Starting 10 threads                             a serial console
//	fio-0 fio Starting 10 threads                                  stern
//	fio.log:12:Starting 10 threads                                 grep -n
func WithoutCommonStart(text []byte) []byte {
	lines := bytes.Split(text, []byte("\n"))
	var written [][]byte
	for _, line := range lines {
		if len(bytes.TrimSpace(line)) > 0 {
			written = append(written, line)
		}
	}
	const fewest, tenth = 3, 10
	if len(written) < fewest {
		return nil
	}
	// A page may have a line or two before the results, but hardly half of it.
	var start []token
	for _, line := range [][]byte{written[0], written[len(written)/2]} {
		if all := tokens(line); len(start) == 0 {
			start = commonStart(all, written, len(written)-len(written)/tenth)
		}
	}
	if len(start) == 0 {
		return nil
	}
	for i, line := range lines {
		cut, quoted := cutStart(line, start)
		if quoted != 0 {
			cut = bytes.TrimSuffix(bytes.TrimRight(cut, " \t\r"), []byte{quoted})
		}
		lines[i] = cut
	}
	return bytes.Join(lines, []byte("\n"))
}

// token is a piece of the beginning of a line, and where it ends: a rune, or "0" for a number that can change from line
// to line, or " " for blanks.
type token struct {
	text string
	end  int
}

var address = prose.Pattern(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)

// tokens returns the tokens of the beginning of a line.
func tokens(line []byte) (all []token) {
	const most = 200
	line = line[:min(len(line), most)]
	named := address().FindAllIndex(line, -1)
	for at := 0; at < len(line); {
		r, size := utf8.DecodeRune(line[at:])
		end := at + size
		switch {
		case isDigit(line[at]):
			for end < len(line) && isDigit(line[end]) {
				end++
			}
			text := "0"
			if ofName(line, at) || slices.ContainsFunc(named, func(m []int) bool { return m[0] <= at && at < m[1] }) {
				text = string(line[at:end]) // another number is another machine
			}
			all = append(all, token{text, end})
		case r == ' ' || r == '\t':
			for end < len(line) && (line[end] == ' ' || line[end] == '\t') {
				end++
			}
			all = append(all, token{" ", end})
		default:
			all = append(all, token{string(r), end})
		}
		at = end
	}
	return all
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// ofName reports whether the number at a position of a line belongs to a name, such as node7 and fio-0. The numbers of
// a time (29T10) and of klog (I1129) do not.
func ofName(line []byte, at int) bool {
	switch {
	case at == 0:
		return false
	case at > 1 && strings.IndexByte("-_.", line[at-1]) >= 0:
		return isLetter(line[at-2])
	case at == 1 && len(line) > 5 && strings.IndexByte("IWEF", line[0]) >= 0:
		return line[5] != ' '
	}
	return isLetter(line[at-1]) && (line[at-1] != 'T' || at < 2 || !isDigit(line[at-2]))
}

// shared returns how many tokens the line has in common with others.
func shared(line, others []token) int {
	n := 0
	for n < min(len(line), len(others)) && line[n].text == others[n].text {
		n++
	}
	return n
}

// whole returns the tokens that can precede results: up to JSON, a bracket that is not closed in them, or a path, which
// results begin with, and then up to the last one that is not within a word. A quotation mark begins a message of
// logrus.
func whole(start []token) []token {
	closing := map[string]string{"{": "JSON", "<": ">", "[": "]", "(": ")"}
	for i, t := range start {
		closed := slices.ContainsFunc(start[i:], func(c token) bool { return c.text == closing[t.text] })
		path := t.text == "/" && i > 0 && start[i-1].text == " " && (i+1 == len(start) || start[i+1].text != "/")
		if closing[t.text] != "" && !closed || path {
			start = start[:i]
			break
		}
	}
	inWord := func(i int) bool {
		r, _ := utf8.DecodeRuneInString(start[i].text)
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	for n := len(start); n > 0; n-- {
		last := start[n-1].text
		message := n > 4 && start[n-5].text+start[n-4].text+start[n-3].text+start[n-2].text == "msg="
		hyphen := strings.Contains("-_.", last) && n > 1 && inWord(n-2)
		if !inWord(n-1) && !hyphen && (last != `"` || message) {
			return start[:n]
		}
	}
	return nil
}

// commonStart returns the longest beginning of a line that at least fewest lines have and that can precede results.
func commonStart(of []token, lines [][]byte, fewest int) []token {
	having := make([]int, len(of)+1)
	for _, line := range lines {
		having[shared(tokens(line), of)]++
	}
	count := 0
	for n := len(of); n > 0; n-- {
		if count += having[n]; count >= fewest {
			return whole(of[:n])
		}
	}
	return nil
}

// cutStart returns a line without its part of a common beginning, and the quotation mark that closes it. Only one blank
// at the end of the beginning belongs to it: the others may be the indentation of results.
func cutStart(line []byte, start []token) (rest []byte, quoted byte) {
	all := tokens(line)
	n := len(whole(all[:shared(all, start)]))
	if n == 0 {
		return line, 0
	}
	end := all[n-1].end
	if all[n-1].text == " " && n > 1 {
		end = all[n-2].end + 1
	}
	if all[n-1].text == `"` {
		quoted = '"'
	}
	return line[end:], quoted
}
