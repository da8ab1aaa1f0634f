package ingest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// Comma is the meaning of a comma in numbers.
type Comma int

// The meanings of a comma. In "28,832" alone it may be either.
const (
	UnknownComma Comma = iota
	DecimalComma
	ThousandsComma
)

var (
	eitherComma    = prose.Pattern(`^[1-9]\d{0,2},\d{3}$`)
	thousandsComma = prose.Pattern(`^[1-9]\d{0,2}(,\d{3}){2,}$|^[1-9]\d{0,2}(,\d{3})+\.\d+$`)
	decimalComma   = prose.Pattern(`^\d+,\d+$|^[1-9]\d{0,2}(\.\d{3})+,\d+$`)
	decimalPoint   = prose.Pattern(`^\d+\.\d+$`)
	eitherPoint    = prose.Pattern(`^[1-9]\d{0,2}\.\d{3}$`)
	groupsOfThree  = prose.Pattern(`^\d{1,3}(?:[ '_\x{a0}\x{2009}\x{202f}]\d{3})+(?:[.,]\d+)?$`)
	betweenGroups  = prose.Pattern(`[ '_\x{a0}\x{2009}\x{202f}]`)
)

// CommaOf returns the meaning that a comma must have in a text with this number, even if the number has none: 112.5 has
// a decimal point. doubtful is set if the number alone is ambiguous.
func CommaOf(number string) (comma Comma, doubtful bool) {
	switch {
	case eitherComma().MatchString(number):
		return UnknownComma, true
	case thousandsComma().MatchString(number):
		return ThousandsComma, false
	case decimalComma().MatchString(number):
		return DecimalComma, false
	case decimalPoint().MatchString(number) && !eitherPoint().MatchString(number):
		return ThousandsComma, false
	}
	return UnknownComma, false
}

// ParseNumber reads a number, given the meaning of a comma in its text: 28,832 or 0,5, 1.034,5 or 1,034.5, and 28 832.
func ParseNumber(text string, comma Comma) (float64, error) {
	plain := strings.TrimSpace(text)
	if groupsOfThree().MatchString(plain) {
		plain = betweenGroups().ReplaceAllString(plain, "")
	}
	switch {
	case comma == DecimalComma && strings.Count(plain, ",") <= 1:
		if decimalComma().MatchString(plain) || eitherPoint().MatchString(plain) {
			plain = strings.ReplaceAll(plain, ".", "")
		}
		plain = strings.Replace(plain, ",", ".", 1)
	case comma == ThousandsComma && (thousandsComma().MatchString(plain) || eitherComma().MatchString(plain)):
		plain = strings.ReplaceAll(plain, ",", "")
	}
	v, err := strconv.ParseFloat(plain, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("expected a number, found %q", strings.ToValidUTF8(text, "\uFFFD"))
	}
	return v, nil
}

// prefixed matches a number with a decimal prefix.
var prefixed = prose.Pattern(`^([0-9.,]+) ?([kKMG])$`)

// Number reads a number as this tool prints it: 12.3k, 28,832 or 0,5.
func (f *printedFormat) Number(text string) (float64, error) {
	plain, factor := text, 1.0
	if m := prefixed().FindStringSubmatch(text); m != nil {
		plain, factor = m[1], map[string]float64{"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}[m[2]]
	}
	if f.thousands {
		plain = strings.ReplaceAll(plain, ",", "")
	} else {
		plain = strings.Replace(plain, ",", ".", 1)
	}
	v, err := strconv.ParseFloat(plain, 64)
	if err != nil || !(v >= 0) || math.IsInf(v*factor, 0) {
		return 0, fmt.Errorf("expected a number, found %q", strings.ToValidUTF8(text, "\uFFFD"))
	}
	return v * factor, nil
}

// scale returns the factor from a unit to base units.
func (f *printedFormat) scale(name string) (float64, error) {
	if name == "" {
		return 1, nil
	}
	for _, known := range []map[string]float64{f.units, unit.Bandwidths(), unit.Times()} {
		if v, ok := known[name]; ok {
			return v, nil
		}
	}
	return 0, errors.New("the unit " + strconv.Quote(name) + " is not known")
}
