package runs

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// writeOpenMetrics writes text that is both OpenMetrics and the older Prometheus text format, because node_exporter's
// textfile collector reads only the latter (expfmt's TextParser). There, "# UNIT" and "# EOF" are comments; a type
// other than gauge, counter, untyped, summary and histogram, or any timestamp, makes it refuse the whole file.
//
//	# TYPE headroom_latency_seconds gauge
//	# UNIT headroom_latency_seconds seconds
//	# HELP headroom_latency_seconds Completion latency.
//	headroom_latency_seconds{headroom_job="randread",direction="read",part="p99"} 0.000118
//
// The job's label is headroom_job, not job: Prometheus gives every target the label job and would rename ours.
//
// Sources: prometheus/common, expfmt/text_parse.go; prometheus/node_exporter, collector/textfile.go; the OpenMetrics
// specification 1.0 (the name ends with the unit, families are not interleaved, the last line is "# EOF").
func writeOpenMetrics(w io.Writer, runs []summary.Run, _ report.Options) error {
	families := &Families{}
	for i := range runs {
		families.addRun(&runs[i])
	}
	return families.Write(w)
}

// Families are samples by their names, as text. Several runs are written together, because samples of one name must be
// adjacent.
type Families struct{ list []*family }

// family is the samples of one name.
type family struct {
	name, unit, help string
	samples          []string
}

// RunFamilies returns the samples of a run, without hiding anything.
func RunFamilies(s summary.Run) *Families {
	families := &Families{}
	families.addRun(&s)
	return families
}

// Write writes all samples and the end marker.
func (fs *Families) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, f := range fs.list {
		fmt.Fprintf(out, "# TYPE %s gauge\n", f.name)
		if f.unit != "" {
			fmt.Fprintf(out, "# UNIT %s %s\n", f.name, f.unit)
		}
		fmt.Fprintf(out, "# HELP %s %s\n", f.name, escapeHelp(f.help))
		for _, sample := range f.samples {
			out.WriteString(sample + "\n")
		}
	}
	out.WriteString("# EOF\n")
	return out.Flush() // keeps the first error of all writes
}

// Append adds the samples of others, which are not changed.
func (fs *Families) Append(others *Families) {
	for _, f := range others.list {
		of := fs.family(f.name, f.unit, f.help)
		of.samples = append(of.samples, f.samples...)
	}
}

// Add adds a sample; labels are alternating names and values. A name ends with its unit, if it has one.
func (fs *Families) Add(name, unit, help string, v float64, labels ...string) {
	var all []label
	for pair := range slices.Chunk(labels, 2) {
		all = append(all, label{pair[0], pair[1]})
	}
	fs.add(name, unit, help, all, v)
}

// family returns the family with a name, and makes it if necessary.
func (fs *Families) family(name, base, help string) *family {
	i := slices.IndexFunc(fs.list, func(f *family) bool { return f.name == name })
	if i < 0 {
		i = len(fs.list)
		fs.list = append(fs.list, &family{name: name, unit: base, help: help})
	}
	return fs.list[i]
}

func (fs *Families) add(name, base, help string, labels []label, v float64) {
	of := fs.family(name, base, help)
	of.samples = append(of.samples, name+labelText(labels)+" "+unit.Decimal(v))
}

func (fs *Families) addRun(s *summary.Run) {
	run := []label{{"run", s.ID}, {"label", s.Label}, {"suite", s.Suite}}
	if !s.Created.IsZero() {
		fs.add("headroom_run_created_timestamp_seconds", "seconds", "When the run was started.", run,
			float64(s.Created.Unix()))
	}
	for _, m := range groupRunWarnings(s) {
		fs.add("headroom_run_warnings", "", "Warnings about the run as a whole.",
			append(slices.Clone(run), label{"code", m.Code}), float64(len(m.Texts)))
	}
	for i := range s.Cells {
		c := &s.Cells[i]
		labels := append(slices.Clone(run), label{"target", c.Target}, label{"role", c.Role},
			label{"place", placeOf(s, c)}, label{"headroom_job", c.Job})
		for _, key := range slices.Sorted(maps.Keys(c.Params)) {
			labels = append(labels, label{"param_" + key, c.Params[key]})
		}
		for _, key := range slices.Sorted(maps.Keys(c.Levels)) {
			labels = append(labels, label{"level_" + key, c.Levels[key]})
		}
		fs.add("headroom_repetitions", "", "Repetitions measured.", labels, float64(c.N))
		for _, w := range c.Warnings {
			fs.add("headroom_warning_repetitions", "", "Repetitions in which a warning occurred.",
				append(slices.Clone(labels), label{"code", w.Code}), float64(w.Repetitions))
		}
		for _, name := range c.MetricNames() {
			fs.addMetric(name, c.Metrics[name], labels)
		}
	}
}

// placeOf returns the place that a cell loads: two places on one machine are two series.
func placeOf(s *summary.Run, c *summary.Cell) string {
	i := slices.IndexFunc(s.Targets, func(t lab.RunTarget) bool { return t.Role == c.Role && t.Target == c.Target })
	if i < 0 {
		return ""
	}
	return s.Targets[i].Place.Path
}

// groupRunWarnings returns the marks of the warnings about the run, without those of the cells.
func groupRunWarnings(s *summary.Run) []report.Mark {
	return marks(&summary.Run{Warnings: s.Warnings})
}

// addMetric writes the number shown, and the ends of its interval as separate families: an interval is not a label,
// because a sum over its values would be meaningless.
func (fs *Families) addMetric(name string, m summary.Metric, labels []label) {
	direction, quantity, part := lab.CutMetric(name)
	labels = slices.Clone(labels)
	if direction != "" {
		labels = append(labels, label{"direction", direction})
	}
	if part != "" {
		labels = append(labels, label{"part", part})
	}
	base, unit, help := openMetricsName(quantity, m.Unit)
	fs.add("headroom_"+base, unit, help, labels, m.Shown())
	if i := m.ShownInterval(); i != nil {
		fs.add("headroom_low_"+base, unit, help+" Lower end of the interval.", labels, i.Lo)
		fs.add("headroom_high_"+base, unit, help+" Upper end of the interval.", labels, i.Hi)
	}
}

// openMetricsName returns a quantity's name with its base unit at the end, as both formats require.
func openMetricsName(quantity string, u lab.Unit) (name, unit, help string) {
	help = prose.Capital(strings.ReplaceAll(quantity, "_", " ")) + "."
	switch {
	case quantity == "iops":
		return "operations_per_second", "operations_per_second", "I/O operations a second."
	case quantity == "latency":
		return "latency_seconds", "seconds", "Completion latency."
	case u == lab.Seconds:
		return sanitize(quantity) + "_seconds", "seconds", help
	case u == lab.BytesPerSecond:
		return sanitize(quantity) + "_bytes_per_second", "bytes_per_second", help
	case u == lab.PerSecond:
		return sanitize(quantity) + "_per_second", "per_second", help
	case u == lab.PerOperation:
		return sanitize(quantity) + "_seconds_per_operation", "seconds_per_operation", help
	case u == lab.JoulesPerOp:
		return sanitize(quantity) + "_joules_per_operation", "joules_per_operation", help
	case u == lab.Share:
		return sanitize(quantity) + "_ratio", "ratio", help
	default:
		return sanitize(quantity), "", help
	}
}

type label struct{ name, value string }

// labelText writes labels in braces. A label with an empty value is the same as none in both formats, so it is left
// out. Readers refuse a file with a label that occurs twice in a sample, as the parameters "a.b" and "a-b" would: the
// later one gets a number.
func labelText(labels []label) string {
	var words []string
	used := map[string]bool{}
	for _, l := range labels {
		if l.value == "" {
			continue
		}
		name := sanitize(l.name)
		for n := 2; used[name]; n++ {
			name = sanitize(l.name) + "_" + strconv.Itoa(n)
		}
		used[name] = true
		words = append(words, name+"="+`"`+escapeLabel(l.value)+`"`)
	}
	return "{" + strings.Join(words, ",") + "}"
}

// escapeHelp keeps a description on its line: a line end in the name of a metric would begin a new sample.
func escapeHelp(text string) string {
	return strings.ReplaceAll(prose.Inline(strings.ToValidUTF8(text, "�")), `\`, `\\`)
}

// escapeLabel escapes the three characters that the formats escape. Readers refuse a file with bytes that are not
// UTF-8, and with the escapes of control characters if these were made later.
func escapeLabel(v string) string {
	v = prose.Visible(strings.ToValidUTF8(v, "�"))
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(v)
}

// sanitize makes a name of letters, digits and underscores that does not begin with a digit. Other characters become
// their code, so that different names stay different.
func sanitize(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r == '_' || r < unicode.MaxASCII && unicode.IsLetter(r) || r < unicode.MaxASCII && unicode.IsDigit(r) &&
			i > 0:
			b.WriteRune(r)
		case r == '.' || r == '-' || r == ' ':
			b.WriteByte('_')
		default:
			b.WriteString("_" + strconv.FormatInt(int64(r), 16))
		}
	}
	return b.String()
}
