package fio

import (
	"bytes"
	"strconv"
)

// maxDigits limits the numbers that lift parses itself: all of them are below longest/10, and no sum overflows.
const maxDigits = 14

// lift reads the distributions of a document and returns the document without them. Each is replaced by a list of one
// number, the index of its span in p.lifted:
//
//	"bins" : {                       "bins" : [0]
//	  "2416" : 1,
//	  "2512" : 17
//	}
//
// Distributions are two thirds of a json+ document and consist only of numbers. A loop for just that form reads them
// twice as fast as a general JSON decoder. The rest is valid JSON exactly if the whole is. The result is nil if there
// are no distributions, or if one has another form: then the decoder reads the whole document, and explains any damage.
func (p *decoder) lift(data []byte) []byte {
	p.rest, p.lifted = p.rest[:0], p.lifted[:0]
	kept := 0 // all data before it are in p.rest, or lifted
	for {
		key := nextBins(data[kept:])
		if key < 0 {
			break
		}
		from, ok := past(data, kept+key, ':')
		if !ok {
			return nil
		}
		p.reserveBins()
		start := len(p.ns)
		to, ok := p.liftBins(data, from)
		if !ok {
			return nil
		}
		p.rest = append(append(p.rest, data[kept:from]...), '[')
		p.rest = append(strconv.AppendInt(p.rest, int64(len(p.lifted)), 10), ']')
		p.lifted = append(p.lifted, span{start, len(p.ns)})
		kept = to
	}
	if kept == 0 {
		return nil
	}
	p.rest = append(p.rest, data[kept:]...)
	return p.rest
}

// nextBins finds the key "bins" and returns where it ends, or -1. In JSON, a quotation mark within a string is written
// \", so these bytes are the end of a key if a colon follows them. It searches for the word without its first quotation
// mark: bytes.Index searches for the first byte, and quotation marks are frequent.
func nextBins(text []byte) int {
	word := []byte(`bins"`)
	for end := 0; ; {
		i := bytes.Index(text[end:], word)
		if i < 0 {
			return -1
		}
		start := end + i
		end = start + len(word)
		if start > 0 && text[start-1] == '"' {
			return end
		}
	}
}

// liftBins reads the object at data[from:] and returns its end. The text between two numbers is compared with the text
// between the first two, including white space, which takes one step where byte after byte would take twenty.
func (p *decoder) liftBins(data []byte, from int) (end int, ok bool) {
	at, ok := past(data, from, '{')
	if !ok {
		return 0, false
	}
	if end, ok := past(data, at, '}'); ok {
		return end, true
	}
	if at, ok = past(data, at, '"'); !ok {
		return 0, false
	}
	ns, counts := p.ns, p.counts
	var colon, comma []byte // from a key to its count, and from there to the next key
	for {
		value, behind := digits(data, at)
		if colon == nil {
			colon = skipColon(data[behind:])
		}
		if behind == at || colon == nil || !bytes.HasPrefix(data[behind:], colon) {
			return 0, false
		}
		at = behind + len(colon)
		count, behind := digits(data, at)
		if behind == at {
			return 0, false
		}
		if count > 0 {
			ns, counts = append(ns, value), append(counts, uint64(count))
		}
		at = behind
		if comma == nil {
			comma = skipComma(data[at:])
		}
		if comma == nil || !bytes.HasPrefix(data[at:], comma) {
			p.ns, p.counts = ns, counts
			return past(data, at, '}')
		}
		at += len(comma)
	}
}

// digits parses an integer in JSON's notation. It returns at itself if there is none, or if it is longer than
// maxDigits.
func digits(text []byte, at int) (value int64, behind int) {
	behind = at
	for ; behind < len(text) && text[behind]-'0' <= 9; behind++ {
		value = value*10 + int64(text[behind]-'0')
	}
	if n := behind - at; n > maxDigits || n > 1 && text[at] == '0' {
		return 0, at
	}
	return value, behind
}

// skipColon returns the text between a key and its value, including white space; nil if text does not begin with it.
func skipColon(text []byte) []byte {
	if !bytes.HasPrefix(text, []byte{'"'}) {
		return nil
	}
	at, ok := past(text, 1, ':')
	if !ok {
		return nil
	}
	return text[:at+space(text[at:])]
}

// skipComma returns the text between a value and the next key; nil if text does not begin with it.
func skipComma(text []byte) []byte {
	at, ok := past(text, 0, ',')
	if !ok {
		return nil
	}
	if at, ok = past(text, at, '"'); !ok {
		return nil
	}
	return text[:at]
}

// past returns the position after a character that comes next, with or without white space before it.
func past(text []byte, at int, sign byte) (behind int, ok bool) {
	at += space(text[at:])
	return at + 1, at < len(text) && text[at] == sign
}

// space returns how many bytes of JSON's white space text begins with.
func space(text []byte) int {
	for i, c := range text {
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return i
		}
	}
	return len(text)
}
