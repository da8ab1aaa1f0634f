package ingest

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/pasted"
)

// printedFormat describes the output of one tool.
type printedFormat struct {
	// Engine that ran the loads.
	Engine string
	// Example shows the expected text in errors.
	Example string

	// warning applies to all results; nil for none.
	warning *lab.Warning
	// is matches a line that only this tool prints. It is tried only on a text with one of the words of has, since
	// there may be thousands of files.
	is  *regexp.Regexp
	has []string
	// unless matches texts in which another importer finds more of the same results.
	unless *regexp.Regexp
	lines  []line
	// named is set if a job's name identifies the load.
	named bool
	// units are this tool's meanings of units, where they differ from the standard ones.
	units map[string]float64
	// thousands is set if a comma separates thousands; otherwise it is a decimal comma.
	thousands bool
	// level names the factor for the levels of figures.
	level string
	// finish completes each result, whole all results of one report.
	finish func(s *state, r *printedResult)
	whole  func(s *state, all []*printedResult)
	// rows reads a text that is not made of such lines.
	rows func(s *state) error
}

// printedResult is one load as a tool printed it.
type printedResult struct {
	Job            string
	Params, Levels map[string]string
	Values         map[string]float64
	Seconds        float64
	Place          lab.Place
	Facts          []lab.Fact
	Warnings       []lab.Warning
	// Line on which it begins.
	Line int
	// Named is set if the job's name identifies the load.
	Named bool
	key   string
}

// printedText is the content of a text.
type printedText struct {
	Results []*printedResult
	Left    []pasted.Left
	// Warnings apply to all results.
	Warnings []lab.Warning
}

// line is a line with a meaning. The names of the groups of its pattern are the load's parameters: "bs", "iodepth". A
// name that begins with _ is not a parameter, but can be used in the texts of figures as ${_name}.
type line struct {
	pattern *regexp.Regexp
	// report is set if a new report begins, begins if a new load does, general if the line applies to everything that
	// follows.
	report, begins, general bool
	// in is the section in which the line has this meaning, enters the section that it begins.
	in, enters string
	// set has the values that the line's presence implies.
	set     map[string]string
	figures []printedFigure
	// again is set if the figure replaces an earlier one of the same load.
	again bool
	// read does what patterns can't.
	read func(s *state, groups map[string]string) error
	// left is why the line's figures are not read.
	left string
}

// printedFigure is a number of a line.
type printedFigure struct {
	// group has the number. A group with the same name and _unit has its unit, if unit has none.
	group, unit string
	// metric contains ${_direction} if the load determines the direction.
	metric string
	// job, params and level identify the load, if one text has figures of several.
	job    string
	params map[string]string
	level  string
}

// direction is the part of a metric's name that an earlier line determines.
const direction = "${_direction}"

// state is the state of reading one text.
type state struct {
	format        *printedFormat
	text          string
	report, block map[string]string
	section       string
	line          string
	// number is the number of the current line, behind how many lines precede the text.
	number, behind int
	loads          []*printedResult
	ofReport, all  []*printedResult
	left           []pasted.Left
	warnings       []lab.Warning
	// commands are those whose results follow, and passes counts the results; atOnce is set if the commands ran
	// together.
	commands []string
	passes   int
	atOnce   bool
}

// longestCommand bounds a command of several lines.
const longestCommand = 4096

// Is reports whether a text has lines of this tool.
func (f *printedFormat) Is(text []byte) bool {
	has := func(word string) bool { return bytes.Contains(text, []byte(word)) }
	return slices.ContainsFunc(f.has, has) && f.is.Match(text) && (f.unless == nil || !f.unless.Match(text))
}

// Read returns the results in a text. behind is how many lines of its file precede it. An error names the line and what
// was expected.
func (f *printedFormat) Read(text string, behind int) (printedText, error) {
	s := &state{format: f, text: text, behind: behind, report: map[string]string{}, block: map[string]string{}}
	if f.rows != nil {
		if err := f.rows(s); err != nil {
			return printedText{}, err
		}
	}
	before := "" // the beginning of a command that continues in the next line
	for i, l := range strings.Split(text, "\n") {
		if f.rows != nil {
			break
		}
		if command, more := strings.CutSuffix(strings.TrimSpace(before+l), "\\"); more && len(before) < longestCommand {
			before = command
			continue
		}
		l, before, s.number = before+l, "", behind+i+1
		l = strings.TrimRight(l, " \t\r")
		l = strings.TrimSpace(l[strings.LastIndexByte(l, '\r')+1:]) // what a terminal showed last
		if s.line = l; s.line == "" {
			continue
		}
		if err := s.read(); err != nil {
			return printedText{}, fmt.Errorf("line %d: %w", s.number, err)
		}
	}
	s.endReport()
	if len(s.all) > 0 {
		if f.warning != nil {
			s.warnings = append(s.warnings, *f.warning)
		}
		return printedText{s.all, s.left, s.warnings}, nil
	}
	if len(s.left) > 0 {
		return printedText{}, fmt.Errorf("line %d: %s", s.left[0].Line, s.left[0].Reason)
	}
	return printedText{}, fmt.Errorf("expected lines as %q, found none", f.Example)
}

// read reads the current line with the first pattern that matches.
func (s *state) read() error {
	for _, l := range s.format.lines {
		if l.in != "" && l.in != s.section {
			continue
		}
		m := l.pattern.FindStringSubmatch(s.line)
		if m == nil {
			continue
		}
		groups := map[string]string{}
		for i, name := range l.pattern.SubexpNames() {
			if name != "" && m[i] != "" {
				groups[name] = strings.TrimSpace(m[i])
			}
		}
		return s.use(l, groups)
	}
	return nil
}

func (s *state) use(l line, groups map[string]string) error {
	switch {
	case l.report:
		s.endReport()
	case l.begins:
		s.endLoads()
		s.block = map[string]string{}
	}
	s.section = cmp.Or(l.enters, s.section)
	scope := s.block
	if l.report || l.general {
		scope = s.report
	}
	for name, value := range l.set {
		scope[name] = value
	}
	for name, value := range groups {
		if !slices.ContainsFunc(l.figures, func(f printedFigure) bool {
			return f.group == name || f.group+"_unit" == name
		}) {
			scope[name] = value
		}
	}
	if l.left != "" {
		s.leave(l.left)
	}
	if l.read != nil {
		if err := l.read(s, groups); err != nil {
			return err
		}
	}
	for _, f := range l.figures {
		if err := s.figure(f, groups, l.again); err != nil {
			return err
		}
	}
	return nil
}

func (s *state) leave(reason string) {
	s.left = append(s.left, pasted.Left{Line: s.number, Reason: reason})
}

// get returns a value from an earlier line.
func (s *state) get(name string) string { return cmp.Or(s.block[name], s.report[name]) }

func (s *state) expand(text string) string { return os.Expand(text, s.get) }

// figure adds a number to its load. If the load already has the number, it starts the next repetition.
func (s *state) figure(f printedFigure, groups map[string]string, again bool) error {
	text, printed := groups[f.group]
	if !printed || text == "null" || text == "-" {
		return nil
	}
	v, err := s.format.Number(text)
	if err != nil {
		return err
	}
	name := cmp.Or(f.unit, groups[f.group+"_unit"])
	scale, err := s.format.scale(name)
	if err != nil {
		return err
	}
	s.add(f, v*scale, again)
	return nil
}

// add adds a value to the load of a figure.
func (s *state) add(f printedFigure, v float64, again bool) {
	metric := s.expand(f.metric)
	if strings.HasPrefix(metric, ".") {
		s.leave(fmt.Sprintf("whether %s reads or writes here is not said", s.format.Engine))
		return
	}
	job, level := s.expand(f.job), s.expand(f.level)
	key := job + "\x00" + level
	i := slices.IndexFunc(s.loads, func(r *printedResult) bool { return r.key == key })
	if i >= 0 && !again {
		if _, had := s.loads[i].Values[metric]; had {
			s.endLoads()
			i = -1
		}
	}
	if i < 0 {
		r := &printedResult{Job: job, Line: s.number, Named: s.format.named, key: key,
			Params: map[string]string{}, Values: map[string]float64{}}
		for name, value := range f.params {
			r.Params[name] = s.expand(value)
		}
		if level != "" {
			r.Levels = map[string]string{s.format.level: level}
		}
		i = len(s.loads)
		s.loads = append(s.loads, r)
	}
	s.loads[i].Values[metric] = v
}

// endLoads completes the current loads. Later lines belong to other loads.
func (s *state) endLoads() {
	for _, r := range s.loads {
		for _, scope := range []map[string]string{s.block, s.report} {
			for name, value := range scope {
				if _, set := r.Params[name]; !set && !strings.HasPrefix(name, "_") && value != "" {
					r.Params[name] = value
				}
			}
		}
		r.Job = cmp.Or(r.Job, s.get("_job"), r.Params["rw"], s.format.Engine)
		r.Place = placeOf(s.get("_place"))
		for _, fact := range facts() {
			if value := s.get(fact.name); value != "" {
				r.Facts = append(r.Facts, lab.Fact{Key: cmp.Or(fact.key, s.format.Engine+".version"),
					Value: strings.ToValidUTF8(value, "\uFFFD")})
			}
		}
		if s.format.finish != nil {
			s.format.finish(s, r)
		}
		if len(r.Values) > 0 {
			s.ofReport = append(s.ofReport, r)
		}
	}
	s.loads = nil
}

func (s *state) endReport() {
	s.endLoads()
	if s.format.whole != nil && len(s.ofReport) > 0 {
		s.format.whole(s, s.ofReport)
	}
	s.all = append(s.all, s.ofReport...)
	s.ofReport, s.section, s.commands, s.passes = nil, "", nil, 0
	s.report, s.block = map[string]string{}, map[string]string{}
}

// facts returns the facts of the place that formats can contain, by the names of groups in lines.
func facts() []struct{ name, key string } {
	return []struct{ name, key string }{
		{"_version", ""}, {"_class", "kubernetes.storage-class"}, {"_volume_size", "kubernetes.volume-size"},
		{"_mode", "kbench.mode"},
	}
}

// placeOf returns the place of a path; none for a relative path.
func placeOf(path string) lab.Place {
	switch {
	case strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/dev/shm/"):
		return lab.Place{Kind: lab.Device, Path: path}
	case strings.HasPrefix(path, "/"):
		return lab.Place{Kind: lab.Directory, Path: path[:max(1, strings.LastIndexByte(path, '/'))]}
	}
	return lab.Place{}
}

// re compiles a pattern of a line.
func re(pattern string) *regexp.Regexp { return regexp.MustCompile(pattern) }

// summary returns the warning that a text has only one number for each load.
func summary(text string) *lab.Warning {
	return &lab.Warning{Code: "import-summary", Text: text, Taints: []string{"*"}}
}

// cached warns that a load went through the page cache.
func cached(r *printedResult, text string) {
	r.Warnings = append(r.Warnings, lab.Warning{Code: "import-cached", Text: text, Taints: []string{"*"}})
}

// oneStream warns that a load was one stream in sequence.
func oneStream(r *printedResult, text string) {
	r.Warnings = append(r.Warnings, lab.Warning{Code: "import-one-stream", Text: text, Taints: []string{}})
}
