package fio

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-faster/jx"
)

// placeError has the place in a document where reading failed. Keys are innermost first.
type placeError struct {
	keys []string
	err  error
}

func (e *placeError) Error() string { return e.path() + ": " + e.err.Error() }

// path in the notation of jq: jobs[0].read.clat_ns.
func (e *placeError) path() string {
	var b strings.Builder
	for _, k := range slices.Backward(e.keys) {
		if b.Len() > 0 && !strings.HasPrefix(k, "[") {
			b.WriteByte('.')
		}
		b.WriteString(k)
	}
	return b.String()
}

// at adds a key to the place of an error. Between two keys, jx has wrapped the error in its own words.
func at(key string, err error) error {
	if p, ok := errors.AsType[*placeError](err); ok {
		p.keys = append(p.keys, key)
		return p
	}
	return &placeError{keys: []string{key}, err: err}
}

// object reads an object, calling f with each key; null counts as an empty one.
func (p *decoder) object(f func(key []byte) error) error {
	switch t := p.d.Next(); t {
	case jx.Object:
	case jx.Null:
		return p.d.Null()
	default:
		return unexpected("an object", t)
	}
	return p.d.ObjBytes(func(_ *jx.Decoder, key []byte) error {
		if err := f(key); err != nil {
			return at(string(key), err)
		}
		return nil
	})
}

// array reads a list, calling f for each element.
func (p *decoder) array(f func() error) error {
	switch t := p.d.Next(); t {
	case jx.Array:
	case jx.Null:
		return p.d.Null()
	default:
		return unexpected("a list", t)
	}
	i := 0
	return p.d.Arr(func(*jx.Decoder) error {
		if err := f(); err != nil {
			return at(fmt.Sprintf("[%d]", i), err)
		}
		i++
		return nil
	})
}

func unexpected(wanted string, t jx.Type) error {
	if t == jx.Invalid {
		return fmt.Errorf("%s was expected", wanted)
	}
	return fmt.Errorf("%s was expected; found: %s", wanted, t)
}

// number reads a number; other values leave *to unchanged.
func (p *decoder) number(to *float64) error {
	if p.d.Next() != jx.Number {
		return p.d.Skip()
	}
	v, err := p.d.Float64()
	if err == nil {
		*to = v
	}
	return err
}

// scaled reads a number and divides it. Dividing gives the nearest decimal fraction, multiplying by the inverse would
// not.
func (p *decoder) scaled(to *float64, divisor float64) error {
	var v float64
	err := p.number(&v)
	*to = v / divisor
	return err
}

// int64 reads an integer. fio has printed -1 as an unsigned integer; a float holds both, and every integer below 2^53
// exactly.
func (p *decoder) int64(to *int64) error {
	var v float64
	err := p.number(&v)
	if v >= math.MinInt64 && v < math.MaxInt64 {
		*to = int64(v)
	}
	return err
}

func (p *decoder) int(to *int) error {
	var v int64
	err := p.int64(&v)
	*to = int(v)
	return err
}

// millis reads a time in milliseconds since 1970.
func (p *decoder) millis(to *time.Time) error {
	var ms int64
	err := p.int64(&ms)
	if ms > 0 {
		*to = time.UnixMilli(ms).UTC()
	}
	return err
}

// text reads a string; other values leave *to unchanged.
func (p *decoder) text(to *string) error {
	if p.d.Next() != jx.String {
		return p.d.Skip()
	}
	s, err := p.d.Str()
	*to = s
	return err
}

// word reads a string, or a number in its original spelling.
func (p *decoder) word(to *string) error {
	if p.d.Next() != jx.Number {
		return p.text(to)
	}
	n, err := p.d.Num()
	*to = n.String()
	return err
}

// parseDecimal parses digits with at most one dot, which is fio's notation for percentiles.
func parseDecimal(s []byte) (float64, bool) {
	var digits, scale int64 = 0, 1
	dot := false
	for _, c := range s {
		switch {
		case c == '.' && !dot:
			dot = true
		case c >= '0' && c <= '9' && digits < math.MaxInt64/100 && scale < math.MaxInt64/100:
			digits = digits*10 + int64(c-'0')
			if dot {
				scale *= 10
			}
		default:
			return 0, false
		}
	}
	return float64(digits) / float64(scale), len(s) > 0
}
