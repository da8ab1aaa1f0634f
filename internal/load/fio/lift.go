package fio

import (
	"bytes"
	"strconv"
)

// maxDigits bounds the numbers that lift reads itself: all of them are below longest/10, and no sum overflows.
const maxDigits = 14

// lift reads the distributions out of a document and returns the document without them, with a list of one number, that
// of the span in p.lifted, in the place of each:
//
//	"bins" : {                       "bins" : [0]
//	  "2416" : 1,
//	  "2512" : 17
//	}
//
// They are two thirds of a json+ document, nothing but numbers, and a loop for just that form reads them twice as
// quickly as a decoder of any JSON. The rest is JSON exactly if the whole is. The result is nil where there are none,
// and where one has another form: then all of the document is the decoder's to read, and to explain if it is damaged.
func (p *decoder) lift(data []byte) []byte {
	p.rest, p.lifted = p.rest[:0], p.lifted[:0]
	kept := 0 // all before it is in p.rest, or lifted
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
// \", so that these bytes are the end of a key wherever a colon follows them. The search is for the word without its
// first quotation mark: bytes.Index looks for the first byte, and quotation marks are everywhere.
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

// liftBins reads the object at data[from:] and returns its end. What is between two numbers is compared with what was
// between the first ones, white space and all, which takes one step where byte after byte would take twenty.
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

// digits reads a whole number as JSON spells it. The result is at itself where there is none, or a longer one than
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

// skipColon is what ends a key and leads to its value, white space included; nil where text does not begin with it.
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

// skipComma is what leads from a value to the next key; nil where text does not begin with it.
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

// past is the place behind a sign that comes next, after white space or none.
func past(text []byte, at int, sign byte) (behind int, ok bool) {
	at += space(text[at:])
	return at + 1, at < len(text) && text[at] == sign
}

// space is how many bytes of JSON's white space text begins with.
func space(text []byte) int {
	for i, c := range text {
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return i
		}
	}
	return len(text)
}
