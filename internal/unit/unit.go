// Package unit turns base units into the figures that engineers read, and their notation (fio's) back into base
// units. It imports nothing of ours.
package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// IOPS prints a rate of operations with three significant digits: 812, 66.1k, 1.02M.
func IOPS(v float64) string { return scaled(v, 1000, []string{"", "k", "M", "G"}, "") }

// Bandwidth prints bytes a second with binary prefixes, as fio does: 258 MiB/s, 3.98 GiB/s.
func Bandwidth(v float64) string {
	return scaled(v, 1024, []string{"B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"}, " ")
}

// Bitrate prints bits a second with decimal prefixes, as links are rated: 940 Mbit/s, 9.41 Gbit/s.
func Bitrate(v float64) string {
	return scaled(v, 1000, []string{"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"}, " ")
}

// Bytes prints an amount with binary prefixes: 512 MiB.
func Bytes(v float64) string {
	return scaled(v, 1024, []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}, " ")
}

// Capacity prints an amount with decimal prefixes, as drives are sold: 7.68 TB.
func Capacity(v float64) string {
	return scaled(v, 1000, []string{"B", "kB", "MB", "GB", "TB", "PB"}, " ")
}

// Latency prints seconds: 850 ns, 14.2 µs, 1.1 ms, 2.3 s.
func Latency(seconds float64) string {
	return scaled(seconds*1e9, 1000, []string{"ns", "µs", "ms", "s", "ks"}, " ")
}

// Energy prints joules: 82.1 µJ, 1.3 mJ.
func Energy(joules float64) string {
	return scaled(joules*1e9, 1000, []string{"nJ", "µJ", "mJ", "J", "kJ"}, " ")
}

// Percent prints a share with digits that suit its size: 0.04%, 1.2%, 62%.
func Percent(share float64) string {
	p := share * 100
	a := math.Abs(p)
	switch {
	case math.IsNaN(p) || math.IsInf(p, 0):
		return "?"
	case a >= 9.95 || a == 0:
		return fmt.Sprintf("%.0f%%", p)
	case a >= 0.095:
		return fmt.Sprintf("%.1f%%", p)
	default:
		return fmt.Sprintf("%.2g%%", p)
	}
}

// RoundPercent is Percent without an insignificant zero: 3%, 1.2%.
func RoundPercent(share float64) string { return strings.Replace(Percent(share), ".0%", "%", 1) }

// Value prints a value in a base unit, as lab.Unit names them, with the functions above; in another unit with four
// digits.
func Value[U ~string](base U, v float64) string {
	switch base {
	case "1/s", "count":
		return IOPS(v)
	case "B/s":
		return Bandwidth(v)
	case "bit/s":
		return Bitrate(v)
	case "s":
		return Latency(v)
	case "s/op":
		return Latency(v) + "/op"
	case "J/op":
		return Energy(v) + "/op"
	case "1":
		return Percent(v)
	case "B":
		return Bytes(v)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		rounded = v // cannot be: FormatFloat wrote it
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64) + " " + string(base)
}

// Round prints a round value, as on an axis, without insignificant digits: "10 µs" for "10.0 µs".
func Round[U ~string](base U, v float64) string {
	text := Value(base, v)
	end := strings.LastIndexAny(text, "0123456789") + 1
	digits, name := text[:end], text[end:]
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	return digits + name
}

// Decimal prints a value for a program: in full, without an exponent, which not every spreadsheet reads.
func Decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Duration prints how long something takes, to the second: 9m 40s, 1h 05m, 0.4s.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + "s"
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm %02ds", d/time.Minute, d%time.Minute/time.Second)
	default:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh %02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
}

// scaled keeps three significant digits and picks the prefix after rounding, so that 999.6 k becomes 1.00 M.
func scaled(v, step float64, prefixes []string, gap string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "?"
	}
	i := 0
	for i < len(prefixes)-1 && math.Abs(v) >= step-step/2000 {
		v /= step
		i++
	}
	a := math.Abs(v)
	digits := 0
	switch {
	case a == 0:
	case a < 9.995:
		digits = 2
	case a < 99.95:
		digits = 1
	}
	if i == 0 && v == math.Trunc(v) {
		digits = 0
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + gap + prefixes[i]
}

// ParseBytes reads an amount in fio's notation: 4k, 1M, 7.5g, 512. As in fio with its default kb_base of 1024, the
// plain prefixes are binary, "kb" included, and those with an i are decimal: 4ki and 4KiB are 4000 bytes. This is the
// reverse of the standard, and older than it. Source: fio's HOWTO, "Parameter types", int, and fio 3.33.
func ParseBytes(s string) (int64, error) {
	t := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(s)), "b")
	t, decimal := strings.CutSuffix(t, "i")
	base, power := 1024.0, 0
	if decimal {
		base = 1000
	}
	if n := len(t); n > 0 {
		if i := strings.IndexByte("kmgtp", t[n-1]); i >= 0 {
			power, t = i+1, t[:n-1]
		}
	}
	v, err := strconv.ParseFloat(t, 64)
	v *= math.Pow(base, float64(power))
	if err != nil || !(v >= 0 && v < math.MaxInt64) || decimal && power == 0 {
		return 0, fmt.Errorf("%q is not an amount of bytes; write 4k, 1M or 10g", s)
	}
	return int64(v), nil
}

// Bandwidths are the units of bandwidth by their names, in bytes a second. Prefixes are taken literally: 1 kB is 1000
// bytes, 1 KiB 1024.
func Bandwidths() map[string]float64 {
	return map[string]float64{"B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "KiB/s": 1 << 10, "MiB/s": 1 << 20,
		"GiB/s": 1 << 30}
}

// Bitrates are the units of bandwidth in bits, in bits a second.
func Bitrates() map[string]float64 {
	return map[string]float64{"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
}

// Times are the units of time by their names, in seconds.
func Times() map[string]float64 {
	return map[string]float64{"s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
}

// BlockSize formats a plain number of bytes as fio's users write it: 4096 is 4k. Anything else is unchanged.
func BlockSize(bs string) string {
	n, err := strconv.ParseInt(bs, 10, 64)
	switch {
	case err != nil || n < 1024 || n%1024 != 0:
		return bs
	case n%(1<<20) != 0:
		return strconv.FormatInt(n>>10, 10) + "k"
	}
	return strconv.FormatInt(n>>20, 10) + "m"
}

// ParseIEC reads an amount of bytes in the notation of IEC 80000-13 and SI: 4 KiB are 4096 bytes, 4 kB are 4000, and 7
// B are 7. Most programs print this notation; fio's own options are read by ParseBytes.
func ParseIEC(s string) (float64, error) {
	t, isBytes := strings.CutSuffix(strings.TrimSpace(s), "B")
	t, binary := strings.CutSuffix(t, "i")
	base, power := 1000.0, 0
	if binary {
		base = 1024
	}
	if n := len(t); n > 0 {
		if i := strings.IndexByte("KMGTP", strings.ToUpper(t[n-1:])[0]); i >= 0 {
			power, t = i+1, t[:n-1]
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(t), 64)
	v *= math.Pow(base, float64(power))
	if err != nil || !isBytes || !(v >= 0 && v < math.MaxInt64) || binary && power == 0 {
		return 0, fmt.Errorf("%q is not an amount of bytes; 4 KiB and 4 kB are", s)
	}
	return v, nil
}

// LeastShare is the smallest share that ParseShare accepts. No measurement is as exact, and numbers lose their last
// digits if much less is added to one.
const LeastShare = 1e-6

// IsShare reports whether a number is such a share.
func IsShare(v float64) bool { return v >= LeastShare && v < 1 }

// ParseShare reads a share, above 0 and below 1: 3% or 0.03.
func ParseShare(s string) (float64, error) {
	digits, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(digits, 64)
	if percent {
		v /= 100
	}
	switch {
	case err != nil || !(v > 0 && v < 1):
		return 0, fmt.Errorf("%q is no share above 0 and below 100%%", s)
	case v < LeastShare:
		return 0, fmt.Errorf("%q is less than a millionth, the smallest share", s)
	}
	return v, nil
}

// ParseDuration reads a time in fio's notation: 60, 60s, 5m, 1h, 500ms, 20us; a bare number is seconds.
func ParseDuration(s string) (time.Duration, error) {
	t := strings.ToLower(strings.TrimSpace(s))
	units := []struct {
		suffix string
		unit   time.Duration
	}{
		{"usec", time.Microsecond}, {"us", time.Microsecond}, {"msec", time.Millisecond}, {"ms", time.Millisecond},
		{"sec", time.Second}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour},
		{"", time.Second},
	}
	for _, u := range units {
		number, ok := strings.CutSuffix(t, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || v < 0 || v*float64(u.unit) >= math.MaxInt64 || math.IsNaN(v) {
			break
		}
		return time.Duration(v * float64(u.unit)), nil
	}
	return 0, fmt.Errorf("%q is not a time; write 60s, 5m or 1h", s)
}

// SecondsToDuration converts from the base unit.
func SecondsToDuration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// TypedPercent prints a share as users type it: 3%.
func TypedPercent(share float64) string { return strconv.FormatFloat(100*share, 'g', 4, 64) + "%" }
