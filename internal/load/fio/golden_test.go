package fio

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/golden"
)

// fixtures returns the files of a folder of testdata. It fails the test if there are none.
func fixtures(t testing.TB, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".golden") })
	if len(files) == 0 {
		t.Fatalf("no fixtures in testdata/%s", folder)
	}
	return files
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// describe formats a document for the golden files: everything that other packages use.
func describe(d Document) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("document %q %s client=%v", d.Version, d.Time.Format("2006-01-02T15:04:05.000Z07:00"), d.Client)
	for _, n := range d.Notes {
		p("  note %s", n)
	}
	for _, k := range d.Disks {
		p("  disk %s %s reads %d writes %d sectors %d/%d ticks %d/%d queue %d busy %.4f", k.Name, k.Host,
			k.ReadIOs, k.WriteIOs,
			k.ReadSectors, k.WriteSectors, k.ReadTicks, k.WriteTicks, k.InQueue, k.Utilisation)
	}
	for _, g := range d.Groups() {
		p("  group %q of %d, %gs %s", g.Name, len(g.Jobs), g.Seconds, strings.Join(g.Errors, "; "))
		for _, k := range slices.Sorted(maps.Keys(g.Params)) {
			p("    param %s=%s", k, g.Params[k])
		}
		for _, k := range slices.Sorted(maps.Keys(g.Values)) {
			p("    %-28s %.9g %s", k, g.Values[k], lab.Metric(k).Unit)
		}
		for _, k := range slices.Sorted(maps.Keys(g.Latency)) {
			h := g.Latency[k]
			var n uint64
			for _, c := range h.Counts {
				n += c
			}
			p("    bins of %s: %d from %d to %d ns, %d operations", k, len(h.Counts), h.Nanoseconds[0],
				h.Nanoseconds[len(h.Nanoseconds)-1], n)
		}
		for _, j := range g.Jobs {
			p("    job host %q errno %d depth %v switches %d", j.Host, j.Error, j.Depth, j.ContextSwitches)
			if s := j.SteadyState; s != nil {
				p("      steady %v at %s, deviation %g, slope %g, %v I/O/s, %v B/s", s.Attained, s.Criterion,
					s.Deviation, s.Slope,
					s.IOPS, s.Bandwidth)
			}
		}
	}
	return b.String()
}

func TestGoldenJSON(t *testing.T) {
	for _, file := range fixtures(t, "json") {
		docs, err := ParseBytes(read(t, file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		var b strings.Builder
		for _, d := range docs {
			b.WriteString(describe(d))
		}
		golden.Equal(t, file+".golden", b.String())
	}
}

func TestGoldenText(t *testing.T) {
	for _, file := range fixtures(t, "text") {
		blocks, _, err := ParseText(strings.NewReader(string(read(t, file))))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		var b strings.Builder
		for _, k := range blocks {
			fmt.Fprintf(&b, "line %d: %s\n%s", k.Line, lab.ShellQuote(k.Command), describe(k.Document))
		}
		golden.Equal(t, file+".golden", b.String())
	}
}
