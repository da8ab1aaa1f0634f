package fio

import (
	"strconv"
	"strings"
)

// Version parses fio's version: "fio-3.33", "fio-2.2.10", "fio-3.16-64-gd0d6", "3.7".
func Version(s string) (major, minor int, ok bool) {
	s = strings.TrimPrefix(strings.TrimSpace(s), "fio-")
	first, rest, found := strings.Cut(s, ".")
	if !found {
		return 0, 0, false
	}
	if i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		rest = rest[:i]
	}
	major, err := strconv.Atoi(first)
	if err != nil {
		return 0, 0, false
	}
	minor, err = strconv.Atoi(rest)
	return major, minor, err == nil
}
