package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// RatioDigits prints a ratio with enough digits to distinguish it from one.
func RatioDigits(v float64) string {
	switch {
	case v >= 99.5:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 9.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v < 0.0995:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case math.Abs(v-1) < 0.0995:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// ChangeText prints a ratio as a change: "-60.2%", "+12%"; from ten times and down to a tenth as a factor.
func ChangeText(ratio float64) string {
	if ratio >= 10 || ratio <= 0.1 {
		return RatioDigits(ratio) + "x"
	}
	return SignedPercent(ratio, false) + "%"
}

// SignedPercent returns a change in percent with its sign.
func SignedPercent(ratio float64, short bool) string {
	p := (ratio - 1) * 100
	digits := 1
	if math.Abs(p) >= 99.5 || short && math.Abs(p) >= 9.95 {
		digits = 0
	}
	text := strconv.FormatFloat(p, 'f', digits, 64)
	if strings.Trim(text, "-0.") == "" {
		return "0.0"
	}
	if p > 0 {
		text = "+" + text
	}
	return text
}

// ChangeBounds prints the deciding interval in percent: "[-61, -59]"; as factors if the change is one. It is empty for
// an interval that says nothing.
func ChangeBounds(e stat.RatioEstimate) string {
	switch {
	case !e.Informative():
		return ""
	case e.Ratio >= 10 || e.Ratio <= 0.1 || *e.Hi >= 100:
		return "[" + RatioDigits(*e.Lo) + ", " + RatioDigits(*e.Hi) + "]x"
	}
	return "[" + SignedPercent(*e.Lo, true) + ", " + SignedPercent(*e.Hi, true) + "]"
}

// HoldTogether returns a clause: all claims of a document are right with 1-alpha.
func HoldTogether(claims string, alpha float64) string {
	return "all " + claims + " hold together with " + Confidence(1-alpha)
}

// CountsAsNone returns a clause about the largest change that counts as none.
func CountsAsNone(margin float64) string {
	return "a change within " + unit.RoundPercent(margin) + " counts as none"
}

// Confidence prints enough digits to distinguish a high confidence from certainty: 95%, 99.4%, 99.97%.
func Confidence(c float64) string {
	for digits := 0; digits < 6; digits++ {
		text := strconv.FormatFloat(math.Floor(c*100*math.Pow10(digits)+1e-6)/math.Pow10(digits), 'f', digits, 64)
		if v, err := strconv.ParseFloat(text, 64); err == nil && (100-v)/(100*(1-c)) < 1.15 {
			return text + "%"
		}
	}
	return "99.9999%"
}
