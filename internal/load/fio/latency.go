package fio

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"github.com/go-faster/jx"

	"github.com/headroom/headroom/internal/lab"
)

// latency reads a summary whose figures are in units of 1/perSecond seconds. If it has no operation, *to stays nil.
func (p *decoder) latency(to **Latency, perSecond float64) error {
	var l Latency
	var n float64
	hasN := false
	var percentiles jx.Raw
	err := p.object(func(key []byte) error {
		switch string(key) {
		case "min":
			return p.scaled(&l.Min, perSecond)
		case "max":
			return p.scaled(&l.Max, perSecond)
		case "mean":
			return p.scaled(&l.Mean, perSecond)
		case "stddev":
			return p.scaled(&l.StdDev, perSecond)
		case "N":
			hasN = true
			return p.number(&n)
		case "percentile":
			if p.d.Next() != jx.Object {
				return p.object(nil) // null, or an error
			}
			var err error
			percentiles, err = p.d.Raw()
			return err
		case "bins":
			return p.bins(&l.Histogram, 1e9/perSecond)
		}
		return p.d.Skip()
	})
	if err != nil {
		return err
	}
	// Nothing measured. Before fio 3.18 only the zeros show that, with percentiles that are zeros as well.
	if n == 0 && (hasN || l.Max == 0 && l.Mean == 0) {
		return nil
	}
	l.N = uint64(n)
	// Percentiles are not needed if there are bins, and parsing some forty decimals takes as long as the rest of a
	// summary.
	if len(l.Histogram.Counts) == 0 && percentiles != nil {
		if l.Percentiles, err = percentilesOf(percentiles, perSecond); err != nil {
			return at("percentile", err)
		}
	}
	*to = &l
	return nil
}

// percentilesOf reads an object of percentiles, whose keys are per cent:
//
//	"percentile" : {
//	  "1.000000" : 179512,
//	  "99.990000" : 15007356
func percentilesOf(text jx.Raw, perSecond float64) (map[float64]float64, error) {
	var p decoder
	p.d.ResetBytes(text)
	read := make(map[float64]float64, 20)
	return read, p.object(func(key []byte) error {
		percent, ok := parseDecimal(key)
		if !ok {
			return p.d.Skip()
		}
		var value float64
		err := p.scaled(&value, perSecond)
		// fio 2 padded its list with "0.00" keys.
		if percent > 0 {
			read[percent/100] = value
		}
		return err
	})
}

// bins reads a distribution. Keys are the middle of each bin, ascending, in units of nanoseconds each:
//
//	"bins" : {
//	  "2416" : 1,
//	  "2512" : 17,
//
// Before fio 2.20 they were indices into fio's array; a few additional keys at the front show that:
//
//	"FIO_IO_U_PLAT_BITS" : 6,
//	"FIO_IO_U_PLAT_VAL" : 64,
//	"FIO_IO_U_PLAT_NR" : 1216,
func (p *decoder) bins(to *lab.Histogram, nanoseconds float64) error {
	if len(p.lifted) > 0 && p.d.Next() == jx.Array {
		return p.liftedBins(to, nanoseconds)
	}
	p.reserveBins()
	start := len(p.ns)
	var bits float64
	err := p.object(func(key []byte) error {
		var value int64
		for _, c := range key {
			if c < '0' || c > '9' || value > longest/10 {
				if string(key) == "FIO_IO_U_PLAT_BITS" {
					return p.number(&bits)
				}
				return p.d.Skip()
			}
			value = value*10 + int64(c-'0')
		}
		count, err := p.d.UInt64()
		if err == nil && count > 0 {
			p.ns, p.counts = append(p.ns, value), append(p.counts, count)
		}
		return err
	})
	h := p.histogram(span{start, len(p.ns)})
	if bits > 0 {
		for i, index := range h.Nanoseconds {
			h.Nanoseconds[i] = indexToValue(index, uint(min(bits, 32)))
		}
	}
	*to = finished(h, nanoseconds)
	return err
}

// liftedBins returns a distribution that has been read already.
func (p *decoder) liftedBins(to *lab.Histogram, nanoseconds float64) error {
	return p.array(func() error {
		n, err := p.d.Int()
		if err != nil || n < 0 || n >= len(p.lifted) {
			return unexpected("an object", jx.Array)
		}
		*to = finished(p.histogram(p.lifted[n]), nanoseconds)
		return nil
	})
}

// reserveBins reserves space for all distributions of a document, before the first one.
func (p *decoder) reserveBins() {
	if cap(p.ns)-len(p.ns) < p.room {
		p.ns, p.counts = make([]int64, 0, p.room), make([]uint64, 0, p.room)
	}
	p.room = 0
}

// histogram returns one distribution of the document. The next one begins after it, and its capacity prevents growing
// into that.
func (p *decoder) histogram(s span) lab.Histogram {
	return lab.Histogram{Nanoseconds: p.ns[s.from:s.to:s.to], Counts: p.counts[s.from:s.to:s.to]}
}

// finished converts bins to nanoseconds and sorts them if needed.
func finished(h lab.Histogram, nanoseconds float64) lab.Histogram {
	if nanoseconds != 1 {
		for i, v := range h.Nanoseconds {
			h.Nanoseconds[i] = int64(float64(v) * nanoseconds)
		}
	}
	for i := 1; i < len(h.Nanoseconds); i++ {
		if h.Nanoseconds[i-1] >= h.Nanoseconds[i] {
			return inOrder(h)
		}
	}
	return h
}

// binLine is about the length of a line with a bin, which is used to estimate the space for all bins of a document: one
// allocation for all takes half as much memory as one for each.
const binLine = 28

// longest is above any latency, in ns (13 days), and small enough to be multiplied without overflow.
const longest = 1 << 50

// inOrder sorts bins and merges duplicates. fio prints them in order; tools that rewrite fio's JSON may not.
func inOrder(h lab.Histogram) lab.Histogram {
	byValue := make(map[int64]uint64, len(h.Counts))
	for i, v := range h.Nanoseconds {
		byValue[v] += h.Counts[i]
	}
	sorted := lab.Histogram{Nanoseconds: slices.Sorted(maps.Keys(byValue))}
	for _, v := range sorted.Nanoseconds {
		sorted.Counts = append(sorted.Counts, byValue[v])
	}
	return sorted
}

// indexToValue returns the middle of the bin at an index of fio's array, which has 2^bits bins for each power of two.
// Source: plat_idx_to_val in fio's stat.c.
func indexToValue(index int64, bits uint) int64 {
	if index < 2<<bits {
		return index
	}
	shift := uint(index>>bits) - 1
	if shift+bits >= 50 {
		return longest
	}
	within := index & (1<<bits - 1)
	return 1<<(shift+bits) + within<<shift + 1<<shift/2
}

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
