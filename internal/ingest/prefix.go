package ingest

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What carries results often puts something before each of their lines:
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
//	{"log":"Starting 10 threads\n","stream":"stdout", …}      Docker's json-file
//	INFO - {'fio version': 'fio-3.7', 'direct': True, …}      Python, which prints what it read of JSON

// mostCarriers is how many of these may be around each other.
const mostCarriers = 6

// withoutCarriers returns text without what stands before all of its lines, and without JSON around it. The lines keep
// their numbers, but in JSON.
func withoutCarriers(text []byte) []byte {
	for range mostCarriers {
		next := withoutLinePrefix(text)
		if next == nil {
			next = withinJSON(text)
		}
		if next == nil {
			next = fromPython(text)
		}
		if next == nil {
			return text
		}
		text = next
	}
	return text
}

// aPrefix finds what stands before one line after another: where it begins and ends; nil where a line has none.
type aPrefix func(line []byte) []int

// prefixes returns the kinds of what can stand before all lines of a text. Each call returns new ones, since some of
// them look for what the lines before had. The first | of a table in Markdown is no box.
func prefixes(text []byte) (kinds []aPrefix) {
	for _, pattern := range []*regexp.Regexp{quotation, dateAndTime, timeOfDay, journal, box} {
		if pattern != box || !markdownRule.Match(text) {
			kinds = append(kinds, pattern.FindIndex)
		}
	}
	return append(kinds, numbered(), named())
}

var (
	quotation   = regexp.MustCompile(`^[ \t]*>`)
	dateAndTime = regexp.MustCompile(
		`^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?(?: |$)`)
	timeOfDay = regexp.MustCompile(`^\[?(?:\d\d:\d\d:\d\d|1\d{9})(?:[.,]\d{1,9})?\]?(?: |$)`) // or seconds since 1970
	journal   = regexp.MustCompile(`^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]+ [\w./@-]+(?:\[\d+\])?:(?: |$)`)
	box       = regexp.MustCompile(`^[│┃|]`)
	// markdownRule stands below the titles of a table in Markdown.
	markdownRule = regexp.MustCompile(`(?m)^[> \t]*\|[ \t]*:?-+:?[ \t]*\|[-:| \t]*\r?$`)
	boxEnd       = regexp.MustCompile(`[ \t]*[│┃|][ \t\r]*$`)
	lineNumber   = regexp.MustCompile(`^ *(\d{1,9})(?:[\t:|]|[.)] | [│┃]? ?|$)`)
	// name is what a program writes before all lines alike: a name, a prompt, or blanks.
	name = regexp.MustCompile(`^(?:\[[\w./-]+\] |[\w.-]+ *\| |[\w.-]+: |[A-Z]+:\w+:|\$ |[ \t]+)`)
	// result begins lines of fio: those of one direction alone, as grep leaves them, have it in common.
	result = regexp.MustCompile(`(?i)^(?:read|write|trim|mixed|[sc]?lat|bw|iops|cpu)\b`)
)

// numbered returns the kind of numbers that grow by one from line to line.
func numbered() aPrefix {
	next := -1
	return func(line []byte) []int {
		m := lineNumber.FindSubmatchIndex(line)
		if m == nil {
			next = max(0, next) // a number behind the first line is one of a table's
			return nil
		}
		n, _ := strconv.Atoi(string(line[m[2]:m[3]])) // the pattern admits nothing but short numbers
		if next >= 0 && n != next {
			return nil
		}
		next = n + 1
		return m[:2]
	}
}

// named returns the kind of a name that is the same before all lines, and before the first.
func named() aPrefix {
	var found []byte
	first := true
	return func(line []byte) []int {
		if first {
			found, first = name.Find(line), false
			if result.Match(found) {
				found = nil
			}
		}
		switch {
		case len(found) == 0:
			return nil
		case bytes.HasPrefix(line, found):
			return []int{0, len(found)}
		case bytes.Equal(line, bytes.TrimRight(found, " \t")): // of an empty line
			return []int{0, len(line)}
		}
		return nil
	}
}

// sampled is how many lines are looked at before all of a text are.
const sampled = 64

// withoutLinePrefix returns text without one kind of prefix; nil if its lines have none.
func withoutLinePrefix(text []byte) []byte {
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
		if box.Match(text) && !markdownRule.Match(text) {
			for k, line := range lines {
				lines[k] = boxEnd.ReplaceAll(line, nil)
			}
		}
		return bytes.Join(lines, []byte("\n"))
	}
	return nil
}

// cutEach returns the lines without their prefix, and without a blank that follows it in all of them; nil if fewer than
// three have one, or more than a tenth, and some, have none: a page around a quotation stays.
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

// withinJSON returns the text that JSON has in strings: in the objects of a log, one a line, or in a document with the
// JSON of fio or iperf3 in a string; nil if there is none.
func withinJSON(text []byte) []byte {
	start := bytes.TrimSpace(text)
	log := bytes.HasPrefix(start, []byte(`{"log":`))
	within := regexp.MustCompile(`\\"(?:fio version\\"|iperf 3\.)`)
	if !log && !(bytes.HasPrefix(start, []byte("{")) && within.Match(text)) {
		return nil
	}
	var all []byte
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var document any
		if decoder.Decode(&document) != nil {
			break
		}
		if log {
			object, _ := document.(map[string]any)
			line, _ := object["log"].(string)
			all = append(all, line...)
			continue
		}
		for _, s := range stringsIn(document) {
			if strings.Contains(s, `"fio version"`) || strings.Contains(s, `"iperf 3.`) && strings.Contains(s, "{") {
				all = append(append(all, s...), '\n')
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// stringsIn returns all strings of a value.
func stringsIn(value any) (all []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			all = append(all, stringsIn(one)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, stringsIn(v[name])...)
		}
	}
	return all
}

// pythonStart is where Python's form of a document begins.
var pythonStart = regexp.MustCompile(`\{\s*u?'[\w ]+'\s*:`)

// fromPython returns the JSON of documents of fio and of iperf3 that Python printed, each on a line; nil if there are
// none.
//
//	{'fio version': 'fio-3.7', 'jobs': [{'jobname': 't', 'sync': None, 'ok': True}]}
func fromPython(text []byte) []byte {
	if !bytes.Contains(text, []byte(`'fio version'`)) && !bytes.Contains(text, []byte(`'iperf 3.`)) {
		return nil
	}
	// Of the events of iperf3 only the first has a version.
	marks := [][]byte{[]byte(`"fio version"`), []byte(`"iperf 3.`), []byte(`"event"`)}
	var all []byte
	for {
		at := pythonStart.FindIndex(text)
		if at == nil {
			break
		}
		text = text[at[0]:]
		document, rest := pythonLiteral(text)
		if slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(document, mark) }) {
			all = append(append(all, document...), '\n')
		}
		text = text[max(1, len(text)-len(rest)):]
	}
	return all
}

// pythonLiteral writes as JSON what Python prints of a dictionary, up to its last brace, and returns what is behind.
func pythonLiteral(text []byte) (document, rest []byte) {
	words := map[string]string{"True": "true", "False": "false", "None": "null", "nan": "null", "inf": "null", "u": ""}
	brackets := map[byte]byte{'(': '[', ')': ']'}
	depth := 0
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\'' || c == '"':
			value, length := pythonString(text[i:])
			quoted, _ := json.Marshal(value) // a string can be written
			document = append(document, quoted...)
			i += length
			continue
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			end := i + 1
			for end < len(text) && ('a' <= text[end] && text[end] <= 'z' || 'A' <= text[end] && text[end] <= 'Z') {
				end++
			}
			word := string(text[i:end])
			if as, known := words[word]; known {
				word = as
			}
			document = append(document, word...)
			i = end
			continue
		case bytes.IndexByte([]byte("{[("), c) >= 0:
			depth++
		case bytes.IndexByte([]byte("}])"), c) >= 0:
			depth--
		}
		if as := brackets[c]; as != 0 {
			c = as
		}
		document = append(document, c)
		if i++; depth == 0 {
			return document, text[i:]
		}
	}
	return document, nil
}

// pythonString reads a string of Python, and returns how long it is there.
func pythonString(text []byte) (value string, length int) {
	var b []byte
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == text[0]:
			return string(b), i + 1
		case c == '\\' && i+1 < len(text):
			i++
			b = append(b, strings.NewReplacer("n", "\n", "t", "\t", "r", "\r").Replace(string(text[i]))...)
		default:
			b = append(b, c)
		}
	}
	return string(b), len(text)
}
