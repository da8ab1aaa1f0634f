// Package option describes the allowed values of load generators' options, and checks values against them.
package option

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/unit"
)

// Kind is the kind of an option's values.
type Kind int

// A Toggle is 0 or 1; a Number is a positive integer; a Size can end in k, m or g; a Duration is in whole seconds; Text
// is one word.
const (
	Toggle Kind = iota
	Number
	Size
	Duration
	Text
)

// Option is an option that a job can set.
type Option struct {
	Kind Kind
	// Words are the only allowed values of a Text, and the allowed words of a Number in addition to numbers.
	Words []string
	// Zero allows a Duration of 0.
	Zero bool
}

// Canonical returns a value in the load generator's notation. If ok is false, hint describes valid values.
func (o Option) Canonical(value string) (canonical string, ok bool, hint string) {
	word := slices.Contains(o.Words, value)
	switch o.Kind {
	case Toggle:
		canonical, ok = map[string]string{"0": "0", "1": "1", "false": "0", "true": "1"}[strings.ToLower(value)]
		return canonical, ok, "write 0 or 1"
	case Number:
		n, err := strconv.Atoi(value)
		hint = "write a whole number above 0"
		if len(o.Words) > 0 {
			hint += ", or " + strings.Join(o.Words, " or ")
		}
		return value, word || err == nil && n > 0, hint
	case Size:
		_, err := unit.ParseBytes(value)
		return value, err == nil, "write 128k, or 1g for a bitrate of a gigabit a second"
	case Duration:
		d, err := unit.ParseDuration(value)
		return value, err == nil && d%1e9 == 0 && (d > 0 || o.Zero), "write whole seconds: 10s"
	default:
		if len(o.Words) > 0 {
			return value, word, "write " + strings.Join(o.Words, " or ")
		}
		return value, value != "" && !strings.ContainsAny(value, " \t\n\x00") && value[0] != '-', "write one word"
	}
}
