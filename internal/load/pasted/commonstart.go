package pasted

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// WithoutCommonStart returns text without what nine of ten of its lines begin with, whatever the numbers in it; nil if
// they have no beginning in common. Results may have one, too, so it is for texts that can't be read as they are.
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
	const fewest, share = 3, 0.9
	if len(written) < fewest {
		return nil
	}
	// A page may have a line or two before the results, but hardly half of it.
	var start []token
	for _, line := range [][]byte{written[0], written[len(written)/2]} {
		if all := tokens(line); len(start) == 0 {
			start = commonStart(all, written, int(share*float64(len(written))))
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

// token is a rune at the beginning of a line, and where it ends. A run of digits is one token, as a run of blanks is.
type token struct {
	rune rune
	end  int
}

// tokens returns the tokens of the beginning of a line.
func tokens(line []byte) (all []token) {
	const most = 200
	line = line[:min(len(line), most)]
	for at := 0; at < len(line); {
		r, size := utf8.DecodeRune(line[at:])
		switch {
		case '0' <= r && r <= '9':
			r = '0'
		case r == '\t':
			r = ' '
		}
		at += size
		if n := len(all); n > 0 && all[n-1].rune == r && (r == '0' || r == ' ') {
			all[n-1].end = at
			continue
		}
		all = append(all, token{r, at})
	}
	return all
}

// shared returns how many tokens the line has in common with others.
func shared(line, others []token) int {
	n := 0
	for n < min(len(line), len(others)) && line[n].rune == others[n].rune {
		n++
	}
	return n
}

// whole returns as many tokens as may stand before results: up to a bracket that is not closed in them, or a path,
// which results begin with, and then up to the last token that is no letter or digit. A quotation begins a message of
// logrus.
func whole(start []token) []token {
	closing := map[rune]rune{'{': '}', '<': '>', '[': ']', '(': ')'}
	for i, t := range start {
		closed := slices.ContainsFunc(start[i:], func(c token) bool { return c.rune == closing[t.rune] })
		path := t.rune == '/' && i > 0 && start[i-1].rune == ' ' && (i+1 == len(start) || start[i+1].rune != '/')
		if closing[t.rune] != 0 && !closed || path {
			start = start[:i]
			break
		}
	}
	for n := len(start); n > 0; n-- {
		last := start[n-1].rune
		message := n > 4 && start[n-5].rune == 'm' && start[n-4].rune == 's' && start[n-3].rune == 'g' &&
			start[n-2].rune == '='
		if !unicode.IsLetter(last) && last != '0' && (last != '"' || message) {
			return start[:n]
		}
	}
	return nil
}

// commonStart returns the longest beginning of a line that at least so many lines have and that may stand before
// results.
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

// cutStart returns a line without what it has of a beginning, and the mark of quotation that closes it. Of blanks at
// the end of the beginning only one belongs to it: the others may be the indentation of results.
func cutStart(line []byte, start []token) (rest []byte, quoted byte) {
	all := tokens(line)
	n := len(whole(all[:shared(all, start)]))
	if n == 0 {
		return line, 0
	}
	end := all[n-1].end
	if all[n-1].rune == ' ' && n > 1 {
		end = all[n-2].end + 1
	}
	if all[n-1].rune == '"' {
		quoted = '"'
	}
	return line[end:], quoted
}
