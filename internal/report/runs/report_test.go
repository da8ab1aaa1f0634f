package runs

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/rendertest"
	"github.com/headroom/headroom/internal/testing/summarytest"
	"github.com/headroom/headroom/internal/unit"
)

func formatNamed(t testing.TB, name string) Format {
	t.Helper()
	for _, f := range Formats() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("there is no format %q", name)
	return Format{}
}

func written(t testing.TB, format string, runs []summary.Run, o report.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := formatNamed(t, format).Write(&b, runs, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	runs := fixtures(t)
	for _, f := range Formats() {
		t.Run(f.Name, func(t *testing.T) {
			shown := runs
			if !slices.Contains([]string{"table", "sheet", "markdown"}, f.Name) {
				shown = abridged(t, runs) // these are long and repetitive
			}
			rendertest.Golden(t, f.Name+f.Extension,
				written(t, f.Name, shown, report.Options{Options: render.Options{Width: 100}}))
		})
	}
	t.Run("sheet with a decimal comma", func(t *testing.T) {
		rendertest.Golden(t, "sheet-comma.csv",
			written(t, "sheet", runs, report.Options{Options: render.Options{DecimalComma: true, NoHeader: true}}))
	})
}

// abridged keeps of each run the cells that differ in kind: with fsync, with a matrix, with a warning, with nothing.
func abridged(t *testing.T, runs []summary.Run) []summary.Run {
	t.Helper()
	var out []summary.Run
	for _, s := range runs {
		s.Cells = slices.DeleteFunc(slices.Clone(s.Cells), func(c summary.Cell) bool {
			return s.ID == "7KQ4M2ZD9A" && !slices.Contains([]string{"c04", "c07", "c09", "c14"}, c.ID)
		})
		if len(s.Cells) == 0 {
			t.Fatalf("nothing is left of run %s", s.ID)
		}
		out = append(out, s)
	}
	return out
}

func TestNoFormatHoldsNaN(t *testing.T) {
	run, _ := summarytest.Run(t, "imported")
	values := map[string]float64{"read.iops": math.NaN(), "read.bandwidth": math.Inf(1), "read.latency.p99": 0.001}
	s, err := summary.Of(run, func(yield func(lab.Repetition, error) bool) {
		yield(lab.Repetition{Cell: "c01", Number: 1, Values: values}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Cells[0].Metrics; len(m) != 1 {
		t.Errorf("metrics are %v, want read.latency.p99 alone", m)
	}
	bad := regexp.MustCompile(`\b(NaN|Inf)\b|\+Inf`)
	for _, f := range Formats() {
		for _, run := range append(fixtures(t), s) {
			text := written(t, f.Name, []summary.Run{run}, report.Options{})
			if found := bad.FindString(text); found != "" {
				t.Errorf("%s of run %s holds %s", f.Name, run.ID, found)
			}
		}
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	escape := regexp.MustCompile("\x1b\\[[0-9]*m")
	for _, width := range []int{0, 40, 60, 80, 100, 120, 200} {
		for _, colour := range []bool{false, true} {
			o := report.Options{Options: render.Options{Width: width}}
			if colour {
				o.Colour = prose.Key("").Own
			}
			text := written(t, "table", fixtures(t), o)
			plain := escape.ReplaceAllString(text, "")
			for line := range strings.Lines(plain) {
				if n := prose.Columns(strings.TrimRight(line, "\n")); n > o.Columns() && len(strings.Fields(line)) > 1 {
					t.Errorf("at width %d a line has %d columns: %s", width, n, line)
				}
			}
			if colour && plain != written(t, "table", fixtures(t),
				report.Options{Options: render.Options{Width: width}}) {
				t.Errorf("at width %d colour changes more than colour", width)
			}
			if colour == (plain == text) {
				t.Errorf("at width %d, colour asked for is %v and escape sequences are %v", width,
					colour, plain != text)
			}
		}
	}
}

// If a format loses a warning, a number is trusted that should not be. CSV and similar formats have the codes, formats
// for people have the sentences.
func TestEveryWarningIsInEveryFormat(t *testing.T) {
	sentences := []string{"table", "html", "json", "markdown"}
	checked := 0
	for _, s := range fixtures(t) {
		for _, f := range Formats() {
			text := written(t, f.Name, []summary.Run{s},
				report.Options{Options: render.Options{Width: 10_000, Warnings: true}})
			for _, m := range marks(&s) {
				checked++
				if !strings.Contains(text, m.Code) {
					t.Errorf("%s of run %s lacks the code %s", f.Name, s.ID, m.Code)
				}
				for _, w := range m.Texts {
					if slices.Contains(sentences, f.Name) && !strings.Contains(text, escaped(f.Name, w.Text)) {
						t.Errorf("%s of run %s lacks the sentence: %s", f.Name, s.ID, w.Text)
					}
				}
			}
		}
	}
	if checked == 0 {
		t.Fatal("the fixtures have no warnings")
	}
}

func escaped(format, text string) string {
	switch format {
	case "html":
		return strings.NewReplacer("<", "&lt;", ">", "&gt;", `"`, "&#34;").Replace(text)
	case "markdown":
		return render.EscapeMarkdown(text)
	case "json":
		return strings.ReplaceAll(text, `"`, `\"`)
	default:
		return text
	}
}

func TestCSVHoldsEveryValue(t *testing.T) {
	runs := fixtures(t)
	want := 0
	for _, s := range runs {
		for _, c := range s.Cells {
			for _, m := range c.Metrics {
				want += len(m.Values)
			}
		}
	}
	for _, comma := range []bool{false, true} {
		reader := csv.NewReader(
			strings.NewReader(written(t, "csv", runs, report.Options{Options: render.Options{DecimalComma: comma}})))
		if comma {
			reader.Comma = ';'
		}
		records, err := reader.ReadAll() // it refuses lines with different numbers of fields
		if err != nil {
			t.Fatal(err)
		}
		if got := len(records) - 1; got != want || want == 0 {
			t.Errorf("%d lines below the header, want one for each of %d values", got, want)
		}
		if titles := slices.Sorted(slices.Values(records[0])); len(slices.Compact(titles)) != len(records[0]) {
			t.Errorf("two columns have the same title: %v", records[0])
		}
		value, number := slices.Index(records[0], "value"), regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
		if comma {
			number = regexp.MustCompile(`^[0-9]+(,[0-9]+)?$`)
		}
		for _, r := range records[1:] {
			if !number.MatchString(r[value]) {
				t.Fatalf("value %q, with a decimal comma: %v", r[value], comma)
			}
		}
	}
}

func TestSheetHasARowARun(t *testing.T) {
	runs := fixtures(t)
	records, err := csv.NewReader(strings.NewReader(written(t, "sheet", runs, report.Options{}))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != len(runs)+1 {
		t.Fatalf("%d rows for %d runs and a header", len(records), len(runs))
	}
	column := slices.Index(records[0], "randread 4k q1 bandwidth (MiB/s)")
	if column < 0 {
		t.Fatalf("no column for the bandwidth of randread: %v", records[0])
	}
	for i, r := range records[1:] {
		if has := r[column] != ""; has != (runs[i].ID == "7KQ4M2ZD9A") {
			t.Errorf("run %s has %q for a job that is in the first run only", runs[i].ID, r[column])
		}
	}
	if got := written(t, "sheet", runs[:1], report.Options{Options: render.Options{NoHeader: true}}); strings.Count(got,
		"\n") != 1 {
		t.Errorf("without header, one run is %d lines", strings.Count(got, "\n"))
	}
}

// The fields that other programs use, by their path; "*" matches any key or index.
func TestJSONHasTheDocumentedFields(t *testing.T) {
	var document any
	if err := json.Unmarshal([]byte(written(t, "json", []summary.Run{summarized(t, "measured")}, report.Options{})),
		&document); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"schema", "id", "label", "status", "suite", "targets.*.role", "targets.*.target", "targets.*.facts",
		"cells.*.job", "cells.*.params", "cells.*.levels", "cells.*.target", "cells.*.n",
		"cells.*.metrics.*.center", "cells.*.metrics.*.estimator", "cells.*.metrics.*.unit", "cells.*.metrics.*.better",
		"cells.*.metrics.*.values.*.value", "cells.*.metrics.*.values.*.repetition", "cells.*.metrics.*.values.*.boot",
		"cells.*.metrics.*.values.*.block", "cells.*.metrics.*.values.*.start",
		"cells.*.warnings.*.code", "cells.*.warnings.*.text", "cells.*.warnings.*.taints",
	} {
		if err := lookUp(document, strings.Split(path, ".")); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	var several []summary.Run
	if err := json.Unmarshal([]byte(written(t, "json", fixtures(t), report.Options{})), &several); err != nil {
		t.Fatal(err)
	}
	for _, s := range several {
		for _, c := range s.Cells {
			for name, m := range c.Metrics {
				if (m.Interval != nil) != (len(m.Values) > 1) {
					t.Errorf("run %s, %s, %s: interval %v of %d values", s.ID, c.Job, name, m.Interval, len(m.Values))
				}
			}
		}
	}
}

func lookUp(v any, path []string) error {
	if len(path) == 0 {
		return nil
	}
	var parts []any
	switch v := v.(type) {
	case []any:
		parts = v
	case map[string]any:
		if path[0] != "*" {
			one, ok := v[path[0]]
			if !ok {
				return fmt.Errorf("no field %q", path[0])
			}
			return lookUp(one, path[1:])
		}
		for _, part := range v {
			parts = append(parts, part)
		}
	default:
		return fmt.Errorf("%T where %q was looked for", v, path[0])
	}
	for _, part := range parts {
		if err := lookUp(part, path[1:]); err != nil {
			return err
		}
	}
	return nil
}

// The requirements of the textfile collector's parser and of the OpenMetrics specification.
func TestOpenMetricsIsValid(t *testing.T) {
	text := written(t, "openmetrics", fixtures(t), report.Options{})
	sample := regexp.MustCompile(
		`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\} (-?[0-9.]+)$`)
	labelName := regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="`)
	if !strings.HasSuffix(text, "\n# EOF\n") {
		t.Error("the last line is not # EOF")
	}
	family, described, seen := "", map[string]bool{}, map[string]bool{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for _, line := range lines[:len(lines)-1] {
		if words := strings.SplitN(line, " ", 4); words[0] == "#" {
			if words[1] == "TYPE" {
				if described[words[2]] {
					t.Errorf("family %s comes twice", words[2])
				}
				family, described[words[2]] = words[2], true
				if words[3] != "gauge" {
					t.Errorf("type %s, which the textfile collector may not know", words[3])
				}
			}
			if words[2] != family || words[1] == "UNIT" && !strings.HasSuffix(family, "_"+words[3]) {
				t.Errorf("description out of place: %s", line)
			}
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("not a sample without timestamp: %s", line)
		}
		if m[1] != family {
			t.Errorf("sample of %s within family %s", m[1], family)
		}
		if seen[m[1]+m[2]] {
			t.Errorf("the same sample twice: %s", line)
		}
		seen[m[1]+m[2]] = true
		names := map[string]bool{}
		for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
			if names[l[1]] || l[1] == "job" || l[1] == "instance" {
				t.Errorf("label %s: %s", l[1], line)
			}
			names[l[1]] = true
		}
	}
	if len(seen) == 0 {
		t.Error("no samples")
	}
}

func TestPageStandsAlone(t *testing.T) {
	page := written(t, "html", fixtures(t), report.Options{})
	if found := regexp.MustCompile(`https?://|<script[^>]*src|@import|url\(|type="module"`).FindString(page); found !=
		"" {
		t.Errorf("the page refers to something outside: %s", found)
	}
	for _, sentinel := range []string{"#010101", "#020202", "#030303", "#040404", "#050505", "Liberation", "<?xml"} {
		if strings.Contains(page, sentinel) {
			t.Errorf("a picture was not made fit for the page: it holds %s", sentinel)
		}
	}
	if strings.Contains(page, "ZgotmplZ") {
		t.Error("html/template took something for unsafe")
	}
	if n := strings.Count(page, "<figure>"); n < 10 {
		t.Errorf("%d pictures", n)
	}
}

// Serial numbers must not leave the machine unrequested, wherever they are.
func TestSerialNumbersAreHidden(t *testing.T) {
	s := summarized(t, "measured")
	secrets := []string{"S6CKNN0T700123", "eui.36434e3054700123002538450000000a"}
	for _, f := range Formats() {
		for _, o := range []report.Options{{}, {NoFacts: true}, {Serials: true}} {
			text := written(t, f.Name, []summary.Run{s}, o)
			for _, secret := range secrets {
				if strings.Contains(text, secret) && !o.Serials {
					t.Errorf("%s with %+v holds %s", f.Name, o, secret)
				}
			}
			if f.Name == "html" && o.Serials && !strings.Contains(text, secrets[0]) {
				t.Error("the page hides serial numbers that were asked for")
			}
		}
	}
	if path := s.Targets[0].Place.Path; !strings.Contains(path, secrets[0]) {
		t.Errorf("writing changed the summary itself: %s", path)
	}
}

// The cost of an I/O is in every export of the numbers, in its unit.
func TestCostsAreExported(t *testing.T) {
	run, repetitions := summarytest.Run(t, "measured")
	s, err := summary.Of(run, func(yield func(lab.Repetition, error) bool) {
		for r, err := range repetitions {
			if r.Values != nil {
				r.Values[lab.HostCPUPerIO], r.Values[lab.EnergyPerIO] = 5e-6, 2e-4
			}
			if !yield(r, err) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for format, wants := range map[string][]string{
		"csv": {"host_cpu.per_io,s/op,lower,0.000005,", "energy.per_io,J/op,lower,0.0002,"},
		"openmetrics": {"# UNIT headroom_host_cpu_seconds_per_operation seconds_per_operation\n",
			"# UNIT headroom_energy_joules_per_operation joules_per_operation\n"},
		"json": {`"energy.per_io": {`, `"unit": "J/op"`, `"host_cpu.per_io": {`},
	} {
		text := written(t, format, []summary.Run{s}, report.Options{})
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s has nothing of %q", format, want)
			}
		}
	}
	if got := unit.Value(lab.Metric(lab.EnergyPerIO).Unit, 2e-4) + " " + unit.Value(lab.Metric(lab.HostCPUPerIO).Unit,
		5e-6); got != "200 µJ/op 5.00 µs/op" {
		t.Errorf("people read %q", got)
	}
}

// Metrics and parameters can have any name. No name begins a separate line, and none occurs twice.
func TestNamesForgeNoSamples(t *testing.T) {
	const forged = "a\nforged{host=\"db1\"} 9e9\n# b\\"
	runs := fixtures(t)
	for i := range runs {
		for j := range runs[i].Cells {
			c := &runs[i].Cells[j]
			metrics := maps.Clone(c.Metrics)
			for _, m := range c.Metrics {
				metrics[forged], metrics["read."+forged+"."+forged] = m, m
				break
			}
			c.Metrics, c.Params = metrics, map[string]string{"a-b": forged, "a.b": "1", "a b": "2", forged: forged}
			c.Levels = map[string]string{forged: forged}
			c.Job, c.Role, c.Target = forged, forged, forged
		}
		runs[i].Label, runs[i].Suite = forged, forged
	}
	text := written(t, "openmetrics", runs, report.Options{})
	if !strings.Contains(text, `param_a_b="2",param_a_b_2="`) {
		t.Errorf("parameters whose names become the same are one label:\n%.2000s", text)
	}
	for line := range strings.Lines(text) {
		known := strings.HasPrefix(line, "headroom_") || line == "# EOF\n"
		for _, head := range []string{"# TYPE headroom_", "# UNIT headroom_", "# HELP headroom_"} {
			known = known || strings.HasPrefix(line, head)
		}
		if !known || strings.Contains(line, "\r") {
			t.Fatalf("a name wrote the line %q", line)
		}
	}
	help := regexp.MustCompile(`(?m)^# HELP \S+ (?:[^\\]|\\\\)*$`)
	if n := strings.Count(text, "# HELP "); len(help.FindAllString(text, -1)) != n {
		t.Errorf("of %d descriptions not all are escaped", n)
	}
}

// Every page allows only its own script and style, and contains nothing that the policy would forbid.
func TestPagesAllowOnlyTheirOwnScript(t *testing.T) {
	for name, d := range runPages(t) {
		rendertest.CheckPolicy(t, name, rendertest.Written(t, d, "html", render.Options{}))
	}
}

// Pictures of usual and unusual runs stay within their frames.
func TestRunPictures(t *testing.T) { rendertest.CheckPictures(t, runPages(t)) }

// A name with the form of a formula is escaped in every file for spreadsheets, unless raw cells are requested. Numbers
// stay numbers.
func TestNoSheetHasAFormula(t *testing.T) {
	runs := fixtures(t)
	for i := range runs {
		runs[i].Label, runs[i].Suite = rendertest.Formula, rendertest.Formula
		for j := range runs[i].Cells {
			runs[i].Cells[j].Job = rendertest.Formula
			runs[i].Cells[j].Params = map[string]string{"bs": rendertest.Formula, rendertest.Formula: "1"}
		}
	}
	for _, format := range []string{"csv", "sheet"} {
		rendertest.CheckFormulas(t, format, func(o render.Options) string {
			return written(t, format, runs, report.Options{Options: o})
		})
	}
}
