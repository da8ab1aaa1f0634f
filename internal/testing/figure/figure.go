// Package figure records what tests measure of headroom and of the machine: rates, times, amounts of memory, shares of
// right and wrong answers. For tests only. Ordinary tests record nothing; scripts/bench runs those with figures, and
// puts them into one file.
package figure

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Environment is the variable with the name of the file for figures. Nothing is recorded without it.
const Environment = "HEADROOM_FIGURES"

// Which direction is better. Figures that only describe something (how many options differ) have none.
const (
	Higher = "higher"
	Lower  = "lower"
)

// Figure is one number that may be quoted, with its uncertainty. It is in base units: s, B, B/s, Hz; "share" for
// fractions and "ratio" for comparisons of equal quantities; "" for counts.
type Figure struct {
	// Section is the part of scripts/bench that it belongs to; tests leave it empty.
	Section string
	// Name is stable even if the wording changes: words of letters and digits, joined by "-", in groups joined by "/".
	Name, Unit string
	Center     float64
	// Lo and Hi contain the true value with this Confidence. A Confidence of 0 means that there is no interval.
	Lo, Hi, Confidence float64
	// N values, pairs or trials; 0 if nothing was repeated.
	N int
	// Better is Higher, Lower or "".
	Better string
	// Text is the sentence for readers.
	Text string
}

// Record prints a figure and appends it to the file that Environment names. Without the variable it only checks the
// name.
func Record(t testing.TB, f Figure) {
	t.Helper()
	if !named().MatchString(f.Name) {
		t.Errorf("%q is no name of a figure: %s", f.Name, named())
	}
	file := os.Getenv(Environment)
	if file == "" {
		return
	}
	if err := Append(file, f); err != nil {
		t.Errorf("%s is not recorded: %v", f.Name, err)
		return
	}
	t.Log("figure: " + f.String())
}

// AtMost fails a test if the share count/n is above the limit by more than chance allows: three standard errors of n
// draws at the limit.
func AtMost(t testing.TB, what string, count, n int, limit float64) {
	t.Helper()
	if share := float64(count) / float64(n); share > limit+3*math.Sqrt(limit*(1-limit)/float64(n)) {
		t.Errorf("%s: %.2f%% of %d, at most %g%% promised", what, 100*share, n, 100*limit)
	}
}

// Append adds a figure to a file; programs that are not tests call it. It is written at once, because packages are
// tested in parallel.
func Append(file string, f Figure) error {
	line, err := json.Marshal(f)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(append(line, '\n'))
	return errors.Join(err, out.Close())
}

// named matches valid names. Those of Go's benchmarks have capitals, and begin with their package.
func named() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+([-./][a-z0-9]+)*$`) }

// Name makes a name from ordinary words: "wrong" and "two levels, 15%" become "wrong/two-levels-15".
func Name(parts ...any) string {
	var groups []string
	for _, p := range parts {
		for group := range strings.SplitSeq(strings.ToLower(fmt.Sprint(p)), "/") {
			words := strings.FieldsFunc(group, func(r rune) bool {
				return r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
			})
			for i := range words {
				words[i] = strings.Trim(words[i], ".")
			}
			groups = append(groups, strings.Join(words, "-"))
		}
	}
	return strings.Join(groups, "/")
}

// Share is the share of trials with a result, with the exact interval of 95% (Clopper and Pearson, Biometrika 26,
// 1934): rates of wrong answers are near zero, where a normal interval would have no width.
func Share(name string, hits, n int, better string) Figure {
	f := Figure{Name: name, Unit: "share", Center: float64(hits) / float64(n), N: n, Better: better,
		Hi: 1, Confidence: 0.95}
	k, of := float64(hits), float64(n)
	if hits > 0 {
		f.Lo = mathext.InvRegIncBeta(k, of-k+1, 0.025)
	}
	if hits < n {
		f.Hi = mathext.InvRegIncBeta(k+1, of-k, 0.975)
	}
	return f
}

// Mean is the mean of some values, with the interval of 95% from Student's t.
func Mean(name, unit string, values []float64, better string) Figure {
	mean, deviation := stat.MeanStdDev(values, nil)
	f := Figure{Name: name, Unit: unit, Center: mean, N: len(values), Better: better}
	if n := float64(len(values)); n > 1 {
		within := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * deviation / math.Sqrt(n)
		f.Lo, f.Hi, f.Confidence = mean-within, mean+within, 0.95
	}
	return f
}

// Times returns how often a simulation runs: few times in an ordinary test, whole for a figure.
func Times(few, whole int) int {
	if Whole {
		return whole
	}
	return few
}

// Saying returns the figure with its sentence for readers.
func (f Figure) Saying(format string, a ...any) Figure {
	f.Text = fmt.Sprintf(format, a...)
	return f
}

// Known reports whether there is an interval.
func (f Figure) Known() bool { return f.Confidence > 0 && !math.IsNaN(f.Lo) && !math.IsNaN(f.Hi) }

// String returns the line to print.
func (f Figure) String() string {
	out := f.Name + ": " + f.Value()
	if f.N > 0 {
		out += fmt.Sprintf(" n=%d", f.N)
	}
	if f.Text != "" {
		out += "; " + f.Text
	}
	return out
}

// Value returns the number with its unit and interval.
func (f Figure) Value() string {
	out := number(f.Center)
	if f.Unit != "" {
		out += " " + f.Unit
	}
	if f.Known() {
		out += fmt.Sprintf(" [%s, %s]", number(f.Lo), number(f.Hi))
	}
	return out
}

// number formats at least four digits, without an exponent for usual sizes.
func number(v float64) string {
	if a := math.Abs(v); a >= 1000 && a < 1e15 {
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// written is a figure in a file. An unknown value is absent: a Lo of 0 was measured.
type written struct {
	Section    string   `json:"section,omitempty"`
	Name       string   `json:"name"`
	Unit       string   `json:"unit,omitempty"`
	Center     float64  `json:"center"`
	Lo         *float64 `json:"lo,omitempty"`
	Hi         *float64 `json:"hi,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	N          int      `json:"n,omitempty"`
	Better     string   `json:"better,omitempty"`
	Text       string   `json:"text,omitempty"`
}

// MarshalJSON omits an unknown interval. A number that JSON can't hold is an error.
func (f Figure) MarshalJSON() ([]byte, error) {
	w := written{Section: f.Section, Name: f.Name, Unit: f.Unit, Center: f.Center, N: f.N, Better: f.Better,
		Text: f.Text}
	if f.Known() {
		w.Lo, w.Hi, w.Confidence = &f.Lo, &f.Hi, f.Confidence
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads the output of MarshalJSON.
func (f *Figure) UnmarshalJSON(data []byte) error {
	var w written
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*f = Figure{Section: w.Section, Name: w.Name, Unit: w.Unit, Center: w.Center, N: w.N, Better: w.Better,
		Text: w.Text}
	if w.Lo != nil && w.Hi != nil {
		f.Lo, f.Hi, f.Confidence = *w.Lo, *w.Hi, w.Confidence
	}
	return nil
}
