package ingest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/validity"
)

// measurement is one repetition of one cell as an importer reads it, before it has a cell and a number.
type measurement struct {
	// host and place are where it ran, levels the factor levels at which it ran; empty if the file does not state them.
	host   string
	place  lab.Place
	levels map[string]string
	// facts of the host that the file states.
	facts []lab.Fact

	job, engine string
	params      map[string]string
	// paramsComplete is set if the job's name alone identifies the load, but not by options of fio.
	paramsComplete bool
	// workers is how many workers ran the load at once; 0 means one.
	workers int
	// repetition has the values; the builder sets its cell, number and raw file.
	repetition lab.Repetition
	// ended is when the measurement ended; zero if the file does not state it.
	ended time.Time
	// line of the file on which it begins, if a file holds several; 0 if there is no useful line.
	line int

	// group and document are fio's output, for the checks of package validity; zero for other tools.
	group    fio.Group
	document fio.Document
}

// partial reports whether missing parameters are unknown. A complete command line and the JSON of fio name all
// parameters that were set.
func (m measurement) partial() bool {
	repeated := len(m.params) > 0 && m.document.Version != "" && !m.document.Partial
	return m.engine == "fio" && !fio.StatesAll(m.repetition.Command) && !repeated
}

// runBuilder builds a run while files are read.
type runBuilder struct {
	sink    Sink
	cells   *cells
	staging staging
	checks  []validity.Check
	parser  fio.Parser
	// raw is the current file's name in the bundle, name the user's name for it, given its bytes until the sink has
	// them, and files the number of files that the sink has.
	raw   string
	name  string
	given []byte
	files int
	host  string // where results ran that do not state it

	run     lab.Run
	formats []string
	// mixed has, for each of mixedKeys, how two files disagree.
	mixedKeys, mixed []string
	// tests of iperf3 by their cookies.
	tests map[string][]seenTest
	// forms in which tests of other tools were printed, by the tool and what tells a test apart.
	forms  map[string]seenForm
	places map[string]int // host and device to index of run.Targets
	arms   map[string]arm
	// before is the last measurement's place in the run: most files contain more measurements of the same place.
	before struct {
		host, device string
		target       int
	}
	key []byte
	// held are the measurements of one text that may contain several tools' output; nil for other files.
	held *[]measurement
}

// seenForm is a form in which a test was printed, and its position.
type seenForm struct{ form, where string }

type arm struct {
	id     string
	target int
}

func newRunBuilder(sink Sink) *runBuilder {
	d := &runBuilder{sink: sink, cells: newCells(), checks: validity.Checks(), places: map[string]int{},
		arms: map[string]arm{}, tests: map[string][]seenTest{}, forms: map[string]seenForm{}}
	d.run = lab.Run{Source: lab.Imported, Status: lab.Complete}
	d.before.target = -1
	return d
}

// begin is called for each file that an importer reads.
func (d *runBuilder) begin(format, name string, raw []byte) {
	d.alsoOf(format)
	// The number distinguishes two files of one name without a list of all names.
	d.raw = fmt.Sprintf("%05d/%s", d.files+1, name)
	d.name = name
	d.given = raw
}

// alsoOf records a format of the current file.
func (d *runBuilder) alsoOf(format string) {
	if !slices.Contains(d.formats, format) {
		d.formats = append(d.formats, format)
	}
}

// together adds the measurements that read finds in one text in the order of its lines, whichever tool printed them. A
// result that fio printed both as JSON and for people counts once.
func (d *runBuilder) together(read func() error) error {
	d.held = &[]measurement{}
	err := read()
	found := *d.held
	d.held = nil
	all := slices.Clone(found)
	found = slices.DeleteFunc(found, func(m measurement) bool {
		twice := m.document.Partial && slices.ContainsFunc(all, func(j measurement) bool {
			return j.document.Version != "" && !j.document.Partial && sameResult(m, j)
		})
		if twice {
			d.warn(lab.Warning{Code: "import-duplicate",
				Text: fmt.Sprintf("%s has a result of job %s as JSON and, at line %d, for people; it was counted once", d.name,
					m.job, m.line)})
		}
		return twice
	})
	slices.SortStableFunc(found, func(a, b measurement) int { return a.line - b.line })
	for _, m := range found {
		if err == nil {
			err = d.add(m)
		}
	}
	return err
}

// sameResult reports whether fio's text and its JSON contain the same result: the job, the run time, the rates and the
// mean latencies are equal up to the digits of the text.
func sameResult(text, document measurement) bool {
	const rounding = 0.01
	if text.job != document.job {
		return false
	}
	rates := 0
	for name, v := range text.repetition.Values {
		w, both := document.repetition.Values[name]
		switch _, kind, _ := strings.Cut(name, "."); {
		case !both || kind != "iops" && kind != "bandwidth" && kind != "latency.mean" && name != "elapsed":
			continue
		case math.Abs(v-w) > rounding*math.Abs(w):
			return false
		case kind == "iops":
			rates++
		}
	}
	return rates > 0
}

// add gives a measurement its cell and number and passes it to the sink.
func (d *runBuilder) add(m measurement) error {
	if d.held != nil {
		*d.held = append(*d.held, m)
		return nil
	}
	if d.given != nil {
		if err := d.sink.Raw(d.raw, d.given); err != nil {
			return &sinkError{err}
		}
		d.files++
		d.given = nil
	}
	m.host = cmp.Or(m.host, d.host)
	target := d.target(m)
	levels := m.levels
	if d.staging.used() {
		levels = d.staging.levels(m, string(d.cells.keyOf("", m)), d.where(m))
	}
	armed := d.arm(target, levels)
	c, isNew := d.cells.find(armed.id, m)
	if isNew {
		d.run.Cells = append(d.run.Cells, c.Cell)
	}
	c.repetitions++
	rep := m.repetition
	rep.Cell, rep.Number, rep.Raw = c.ID, c.repetitions, []string{d.raw}
	if rep.Values == nil {
		rep.Values = map[string]float64{}
	}
	rep.Warnings = append(rep.Warnings, validity.DropImpossible(rep.Values)...)
	rep.Warnings = append(rep.Warnings, d.check(c.Cell, rep, m)...)
	d.run.Repetitions = max(d.run.Repetitions, rep.Number)
	d.date(rep.Start)
	d.date(m.ended)
	if err := d.sink.Repetition(rep); err != nil {
		return &sinkError{err}
	}
	return nil
}

// where returns the position of a measurement, in words.
func (d *runBuilder) where(m measurement) string {
	if m.line == 0 {
		return d.name
	}
	return fmt.Sprintf("%s, line %d", d.name, m.line)
}

// sinkError marks an error of the sink, which is not a fault of the current file.
type sinkError struct{ error }

func (e *sinkError) Unwrap() error { return e.error }

func (d *runBuilder) date(t time.Time) {
	if t.IsZero() {
		return
	}
	if d.run.Created.IsZero() || t.Before(d.run.Created) {
		d.run.Created = t
	}
	if t.After(d.run.Finished) {
		d.run.Finished = t
	}
}

// warn adds a warning to the run, once.
func (d *runBuilder) warn(w lab.Warning) {
	if w.Taints == nil {
		w.Taints = []string{}
	}
	given := func(old lab.Warning) bool { return old.Code == w.Code && old.Text == w.Text }
	if !slices.ContainsFunc(d.run.Warnings, given) {
		d.run.Warnings = append(d.run.Warnings, w)
	}
}

// target finds the target of a measurement: one for each host and device. Directories do not distinguish targets,
// because many tools make a new one each time.
func (d *runBuilder) target(m measurement) int {
	dev := ""
	if m.place.Kind == lab.Device {
		dev = m.place.Path
	}
	if d.before.target < 0 || d.before.host != m.host || d.before.device != dev {
		key := m.host + "\x00" + dev
		i, ok := d.places[key]
		if !ok {
			i = len(d.run.Targets)
			d.places[key] = i
			place := m.place
			if place.Kind == "" {
				place.Kind = lab.NoPlace
			}
			d.run.Targets = append(d.run.Targets, lab.RunTarget{Target: m.host, Place: place})
		}
		d.before.host, d.before.device, d.before.target = m.host, dev, i
	}
	t := &d.run.Targets[d.before.target]
	if t.Place.Kind == lab.Directory && t.Place.Path != m.place.Path {
		t.Place = lab.Place{Kind: lab.NoPlace}
	}
	for _, f := range m.facts {
		d.fact(t, f)
	}
	return d.before.target
}

// fact adds a fact of a target from a file. Two files that disagree are a reason to distrust the run; only the first
// disagreement about a key is recorded.
func (d *runBuilder) fact(t *lab.RunTarget, f lab.Fact) {
	i := slices.IndexFunc(t.Facts, func(old lab.Fact) bool { return old.Key == f.Key })
	switch {
	case i < 0:
		t.Facts = append(t.Facts, f)
	case t.Facts[i].Value != f.Value && !slices.Contains(d.mixedKeys, f.Key):
		d.mixedKeys = append(d.mixedKeys, f.Key)
		d.mixed = append(d.mixed, fmt.Sprintf("%s is %q in %s and %q in %s",
			f.Key, t.Facts[i].Value, t.Facts[i].Source, f.Value, f.Source))
	}
}

// arm finds the arm of a target with the given levels.
func (d *runBuilder) arm(target int, levels map[string]string) arm {
	d.key = fmt.Appendf(d.key[:0], "%d", target)
	names := slices.Sorted(maps.Keys(levels))
	for _, n := range names {
		d.key = fmt.Appendf(d.key, "\x00%s=%s", n, levels[n])
	}
	if known, ok := d.arms[string(d.key)]; ok {
		return known
	}
	var words []string
	t := d.run.Targets[target]
	if t.Target != "" {
		words = append(words, t.Target)
	}
	if t.Place.Kind == lab.Device {
		words = append(words, path.Base(t.Place.Path))
	}
	for _, n := range names {
		words = append(words, n[strings.LastIndexByte(n, ':')+1:], levels[n])
	}
	id := slug(strings.Join(words, "-"))
	if id == "" {
		id = "all"
	}
	// Two hosts whose names differ only in punctuation get a number each.
	id = untaken(id, func(s string) bool {
		return slices.ContainsFunc(d.run.Arms, func(a lab.Arm) bool { return a.ID == s })
	})
	if levels = maps.Clone(levels); levels == nil {
		levels = map[string]string{}
	}
	made := arm{id: id, target: target}
	d.arms[string(d.key)] = made
	d.run.Arms = append(d.run.Arms, lab.Arm{ID: id, Levels: levels})
	return made
}

// finish completes the header: roles can be assigned only when all targets are known.
func (d *runBuilder) finish() lab.Run {
	slices.Sort(d.formats)
	d.run.Format = strings.Join(d.formats, "+")
	d.run.Stages = d.staging.stages()
	for i := range d.run.Targets {
		t := &d.run.Targets[i]
		t.Role = "storage"
		if len(d.run.Targets) > 1 {
			t.Role = d.role(i)
		}
	}
	for _, a := range d.arms {
		i := slices.IndexFunc(d.run.Arms, func(r lab.Arm) bool { return r.ID == a.id })
		d.run.Arms[i].Role = d.run.Targets[a.target].Role
	}
	if len(d.mixed) > 0 {
		d.warn(lab.Warning{
			Code: "import-mixed",
			Text: "the files are not of the same conditions: " + strings.Join(d.mixed, "; ") +
				"; unless that makes no difference, import them as separate runs",
			Taints: []string{"*"},
		})
	}
	return d.run
}

// role names the target at index i, one of several, by its host and device.
func (d *runBuilder) role(i int) string {
	t := d.run.Targets[i]
	words := []string{t.Target}
	if t.Place.Kind == lab.Device {
		words = append(words, path.Base(t.Place.Path))
	}
	role := slug(strings.Join(words, "-"))
	if role == "" {
		role = "storage"
	}
	return untaken(role, func(s string) bool {
		return slices.ContainsFunc(d.run.Targets[:i], func(o lab.RunTarget) bool { return o.Role == s })
	})
}

// untaken returns name, or name with the first number that makes it unique.
func untaken(name string, taken func(string) bool) string {
	free := name
	for n := 2; taken(free); n++ {
		free = fmt.Sprintf("%s.%d", name, n)
	}
	return free
}

// check runs the checks of package validity on an imported repetition. Most of the evidence is missing, so many checks
// report nothing. The list of checks is made once an import: making it for every repetition would cost a tenth of the
// time.
func (d *runBuilder) check(c lab.Cell, rep lab.Repetition, m measurement) []lab.Warning {
	evidence := &validity.Evidence{
		Cell: c, Repetition: rep, Place: m.place, Group: m.group, Document: m.document, Workers: m.workers,
		Machine: validity.Machine{FioVersion: m.document.Version},
	}
	var all []lab.Warning
	for _, check := range d.checks {
		if check.Repetition == nil {
			continue
		}
		for _, w := range check.Repetition(evidence) {
			w.Code = check.Code
			all = append(all, w)
		}
	}
	return all
}
