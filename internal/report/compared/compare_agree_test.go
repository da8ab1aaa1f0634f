package compared

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	figures "github.com/headroom/headroom/internal/testing/figure"
)

// The printed change matches the two figures next to it, in sign and within rounding in size, in all formats, whatever
// the values are and however they are compared.
func TestTheChangeIsThatOfTheFiguresBesideIt(t *testing.T) {
	knowledge, err := diff.Load()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(37, 1))
	for range figures.Times(300, 10000) {
		base, next := randomSides(r)
		d := compare.Compare(knowledge, base, []compare.Run{next}, compare.Options{})
		c := d.Cells[0]
		if c.Change == nil {
			t.Fatalf("no change: %s, %s", c.Verdict, c.Why)
		}
		if c.Change.Known() && (*c.Change.Lo > c.Change.Ratio*(1+1e-9) || *c.Change.Hi < c.Change.Ratio*(1-1e-9)) {
			t.Fatalf("%g is not within [%g, %g]", c.Change.Ratio, *c.Change.Lo, *c.Change.Hi)
		}
		if b, n, ratio := ofJSON(t, d); math.Abs(ratio/(n/b)-1) > 1e-9 {
			t.Fatalf("JSON: %g and %g, and a change to %g", b, n, ratio)
		}
		for format, read := range map[string]func(string) (base, next, ratio float64){"csv": ofCSV, "table": ofText,
			"markdown": ofText, "html": ofText} {
			text := writtenComparison(t, d, format, report.Options{Options: render.Options{Width: 200}})
			b, n, ratio := read(text)
			tolerance := 2e-5 // six digits
			if format != "csv" {
				tolerance = 0.0105 // three digits a side
				switch {
				case ratio <= 0.1:
					tolerance += 0.05 // two digits
				case ratio >= 9.95:
					tolerance += 0.005
				}
			}
			if !(math.Abs(ratio/(n/b)-1) <= tolerance) || (ratio > 1.011) != (n > b*1.0001) &&
				(ratio < 0.989 || ratio > 1.011) {
				t.Fatalf("%s: %g and %g, and a change to %g:\n%s", format, b, n, ratio, text)
			}
		}
	}
}

// randomSides returns two runs of one load with a few values each, on two levels or scattered, repeated in a boot, in
// boots or in pairs.
func randomSides(r *rand.Rand) (base, next compare.Run) {
	scatter, jump := math.Exp(-6*r.Float64()), math.Exp(2*r.Float64())
	kind := r.IntN(3)
	side := func(id string, level float64, n int) compare.Run {
		c := compare.Cell{Job: "load", Engine: "fio", Params: map[string]string{"direct": "1", "rw": "randread",
			"bs": "4k"}, Role: "storage", Target: "local", N: n, Values: map[string][]compare.Value{}}
		for i := range n {
			v := compare.Value{Value: level * math.Exp(scatter*r.NormFloat64()), Repetition: i + 1,
				Boot: id, Block: i + 1}
			if r.IntN(3) == 0 {
				v.Value *= jump
			}
			if kind == 1 {
				v.Boot = fmt.Sprint(id, i/2)
			}
			c.Values["read.iops"] = append(c.Values["read.iops"], v)
		}
		run := compare.Run{Name: id, Run: lab.Run{ID: id, Suite: "s", Status: lab.Complete, Source: lab.Measured},
			Cells: []compare.Cell{c}}
		if kind == 2 {
			run.Pair = "P"
		}
		return run
	}
	n := 2 + r.IntN(7)
	m := n
	if kind != 2 {
		m = 2 + r.IntN(7)
	}
	level := math.Exp(4 + 10*r.Float64())
	return side("BASE", level, n), side("NEXT", level*math.Exp(0.5*r.NormFloat64()), m)
}

func ofJSON(t *testing.T, d compare.Document) (base, next, ratio float64) {
	t.Helper()
	text, err := json.Marshal(d)
	var read compare.Document
	if err != nil || json.Unmarshal(text, &read) != nil {
		t.Fatal("no JSON", err)
	}
	c := read.Cells[0]
	return c.Base.Center, c.New.Center, c.Change.Ratio
}

func ofCSV(text string) (base, next, ratio float64) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 2 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	of := func(title string) float64 {
		for i, name := range rows[0] {
			if name == title {
				v, _ := strconv.ParseFloat(rows[1][i], 64)
				return v
			}
		}
		return math.NaN()
	}
	return of("base_center"), of("new_center"), of("ratio")
}

// ofText reads the row of a table: two figures and a change, with spreads and tags in between.
func ofText(text string) (base, next, ratio float64) {
	nan := math.NaN()
	i := strings.Index(text, `<td class="words">load`)
	if i < 0 {
		if i = strings.Index(text, "\nload"); i < 0 {
			if i = strings.Index(text, "| load"); i < 0 {
				return nan, nan, nan
			}
		}
	}
	row := text[i+1:]
	if end := strings.Index(row, "</tr>"); end > 0 {
		row = row[:end]
	} else {
		row, _, _ = strings.Cut(row, "\n")
	}
	row = html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(row, " "))
	sides := regexp.MustCompile(`(?:^|[ |])(\d[\d.]*)([kMGm]?)(?: IOPS)?(?:[ |]|$)`).FindAllStringSubmatch(
		strings.ReplaceAll(row, " ", "  "), -1)
	change := regexp.MustCompile(`(?:^|[ |])([+-]?[\d.]+)(%|x)(?:[ |]|$)`).FindStringSubmatch(row)
	if len(sides) < 2 || change == nil {
		return nan, nan, nan
	}
	number := func(m []string) float64 {
		v, _ := strconv.ParseFloat(m[1], 64)
		return v * map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "m": 1e-3}[m[2]]
	}
	v, _ := strconv.ParseFloat(change[1], 64)
	ratio = v
	if change[2] == "%" {
		ratio = 1 + v/100
	}
	return number(sides[0]), number(sides[1]), ratio
}
