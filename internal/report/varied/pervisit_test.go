package varied

import (
	"bytes"
	"encoding/json"
	"html"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

// visits are those of some experiments, by what is to be learnt from them.
func visits() []struct {
	what string
	of   *plan.PerVisit
} {
	is := func(v float64) *float64 { return &v }
	number := func(cell string, between, within float64, repeat, from, to int) plan.VisitMetric {
		return plan.VisitMetric{Cell: cell, Metric: "read.iops", Between: is(between), Within: is(within),
			Repeat: repeat, From: from, To: to}
	}
	boots := func(visits int, boot, load float64, repeat int, numbers ...plan.VisitMetric) *plan.PerVisit {
		return &plan.PerVisit{Boots: true, Visits: visits, Repetitions: 2, VisitSeconds: is(boot),
			RepetitionSeconds: is(load), Metrics: numbers, Repeat: repeat}
	}
	live := boots(24, 0.2, 5.4, 1, number("randread", 0.013, 0.03, 1, 1, 1))
	live.Boots = false
	untimed := boots(24, 0, 0, 0, number("randread", 0.06, 0.03, 0, 0, 0))
	untimed.VisitSeconds, untimed.RepetitionSeconds = nil, nil
	return []struct {
		what string
		of   *plan.PerVisit
	}{
		{"one repetition a visit", nil},
		{"boots differ", boots(48, 11.2, 5.4, 1, number("randread", 0.06, 0.03, 1, 1, 1))},
		{"boots are dear", boots(48, 155, 5.4, 3, number("randread", 0.062, 0.03, 3, 2, 4))},
		{"two loads", boots(48, 155, 75, 2, number("randread", 0.062, 0.03, 2, 1, 3),
			number("build", 0.02, 0.002, 1, 1, 1))},
		{"bounded", boots(12, 155, 5.4, 0, number("randread", 0.02, 0.03, 0, 3, 14))},
		{"not bounded", boots(12, 155, 5.4, 0, number("randread", 0, 0.03, 0, 4, 0))},
		{"anything", boots(6, 155, 5.4, 0, number("randread", 0, 0.03, 0, 1, 0))},
		{"live", live},
		{"no starts", untimed},
		{"one boot", boots(1, 11, 5, 0, plan.VisitMetric{Cell: "randread", Metric: "read.iops", Within: is(0.03)})},
	}
}

func TestPerVisitText(t *testing.T) {
	var b strings.Builder
	for _, v := range visits() {
		b.WriteString(v.what + "\n")
		for _, line := range perVisitText(v.of, func(n plan.VisitMetric) string { return n.Cell + " 4k" }) {
			b.WriteString("  " + line + "\n")
		}
	}
	rendertest.Golden(t, "per-visit.txt", b.String())
}

// Whatever is read has the sentence, and the documents have the figures.
func TestPerVisitIsInAllReports(t *testing.T) {
	for _, v := range visits()[:2] {
		swept, priced := byKernel(), hardened(oneCell(), costly)
		swept.PerVisit, priced.PerVisit = v.of, v.of
		texts := map[string]string{}
		for _, f := range []string{"table", "html", "markdown"} {
			texts["sweep as "+f] = writtenSweep(t, swept, f, report.Options{Options: render.Options{Width: 160}})
		}
		for _, f := range render.Formats() {
			var b bytes.Buffer
			if err := f.Write(&b, Ablation(priced, report.Options{}), render.Options{Width: 160}); err != nil {
				t.Fatal(err)
			}
			if f.Name != "csv" {
				texts["ablation as "+f.Name] = b.String()
			}
		}
		const sentence = "Boots differ by 6%, loads within a boot by 3%: --repeat 1 is enough; a boot takes 11s, a " +
			"load 5.4s."
		for name, text := range texts {
			plain := strings.ReplaceAll(html.UnescapeString(strings.Join(strings.Fields(text), " ")), `\`, "")
			if strings.Contains(plain, sentence) != (v.of != nil) ||
				v.of == nil && strings.Contains(plain, "--repeat") {
				t.Errorf("%s, %s:\n%s", name, v.what, plain)
			}
		}
		for _, d := range []any{swept, priced} {
			data, err := json.Marshal(d)
			want := `"per_visit":{"boots":true,"visits":48,"repetitions":2,"visit_seconds":11.2,"repetition_seconds":5.4,"numbers":[{"cell":"randread","metric":"read.iops",` +
				`"between":0.06,"within":0.03,"repeat":1,"from":1,"to":1}],"repeat":1}`
			if err != nil || strings.Contains(string(data), want) != (v.of != nil) ||
				v.of == nil && strings.Contains(string(data), "per_visit") {
				t.Errorf("%v: %s", err, data)
			}
		}
	}
}
