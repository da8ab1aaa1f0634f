package ingest

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/load/pasted"
	"github.com/headroom/headroom/internal/prose"
)

// Carriers of results put something before each of their lines (pasted.WithoutPrefix), or JSON around them:
//
//	{"log":"Starting 10 threads\n","stream":"stdout", …}      Docker's json-file
//	{"kind": "ConfigMap", "data": {"result.json": "{\n …      a document in a string
//	INFO - {'fio version': 'fio-3.7', 'direct': True, …}      Python printing parsed JSON

// mostCarriers is how many carriers may be nested.
const mostCarriers = 6

// withoutCarriers returns text without common prefixes of its lines, and without JSON around it. Lines keep their
// numbers, except those inside JSON.
func withoutCarriers(text []byte) []byte {
	for range mostCarriers {
		next := pasted.WithoutPrefix(text)
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

// withinJSON returns the text in strings of JSON: in the objects of a log, one a line, or in a document with the JSON
// of fio or iperf3 in a string; nil if there is none.
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

// pythonStart matches the beginning of a document in Python's notation.
var pythonStart = prose.Pattern(`\{\s*u?'[\w ]+'\s*:`)

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
		at := pythonStart().FindIndex(text)
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

// pythonLiteral converts a dictionary printed by Python to JSON, up to its last brace, and returns the rest of the
// text.
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

// pythonString reads a string literal of Python, and returns its length in the text.
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
