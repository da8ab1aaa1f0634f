package fio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// cutOff is the error of a document whose end is missing.
type cutOff struct{ error }

func (c cutOff) Unwrap() error { return c.error }

// IsCutOff reports whether an error of ParseBytes means that the last document is cut off.
func IsCutOff(err error) bool {
	_, ok := errors.AsType[cutOff](err)
	return ok
}

// describeDamage explains why a document can't be parsed. The byte offset comes from the standard library's decoder,
// which has an exact count; the fast one does not provide it.
func describeDamage(data []byte, at int64, cut bool, err error) error {
	place, cause := "", err
	if p, ok := errors.AsType[*placeError](err); ok {
		place, cause = ", in "+p.path(), p.err
	}
	var syntax *json.SyntaxError
	var nothing struct{}
	if e := json.Unmarshal(data, &nothing); !errors.As(e, &syntax) {
		return &lab.Error{
			Kind: lab.Usage,
			What: fmt.Sprintf("fio's JSON document at byte %d is not what fio prints%s", at, place),
			Err:  cause,
		}
	}
	if cut && syntax.Offset >= int64(len(data)) {
		return cutOff{&lab.Error{
			Kind: lab.Usage,
			What: fmt.Sprintf("fio's JSON is cut off at byte %d%s; the document began at byte %d",
				at+int64(len(data)), place, at),
			Hints: []string{"fio was stopped before it had printed everything, or its disk was full: run it again"},
		}}
	}
	return &lab.Error{
		Kind: lab.Usage,
		What: fmt.Sprintf("fio's JSON is damaged at byte %d%s; the document began at byte %d",
			at+syntax.Offset-1, place, at),
		Err:   syntax,
		Hints: []string{"something else may have been written into the same file: give fio a separate file: --output=FILE"},
	}
}

// withoutNaN replaces numbers that C's printf writes but JSON does not have by values that count as absent, of the same
// length so that offsets stay valid. fio divides by zero in some places:
//
//	"bw_dev" : -nan,
//	"iops_mean" : nan,
//	"bw_agg" : inf,
//
// The result is nil if there are none.
func withoutNaN(data []byte) []byte {
	var clean []byte
	quoted := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '-' || c|0x20 == 'n' || c|0x20 == 'i'):
			n := notANumber(data[i:])
			if n == 0 {
				continue
			}
			if clean == nil {
				clean = bytes.Clone(data)
			}
			copy(clean[i:i+n], `""          `)
			i += n - 1
		}
	}
	return clean
}

// notANumber returns the length of a nan or an infinity at the start of text in C's or Python's spelling, or 0.
func notANumber(text []byte) int {
	for _, word := range []string{"-infinity", "infinity", "-nan(ind)", "-nan", "-inf", "nan", "inf"} {
		if len(text) >= len(word) && strings.EqualFold(string(text[:len(word)]), word) {
			return len(word)
		}
	}
	return 0
}
