package fio

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// Section is one job of a job file or of a command line.
type Section struct {
	Name string
	// Line on which it begins; 0 for a command line.
	Line int
	// Params are its own options on top of those of the global sections above it. An option without a value is "1".
	Params map[string]string
	// Lines of the options.
	Lines map[string]int
}

// ParseJobFile parses fio's own job files and returns their jobs in order.
//
//	; random reads and a log
//	[global]
//	ioengine=libaio
//	[reader]
//	rw=randread
//	stonewall
//
// The rules are fio's, found in its HOWTO ("Job file format") and by trying fio 3.33: a comment begins with ; or #
// anywhere in a line; a global section applies to the jobs below it, and a second one adds to the first; a later option
// replaces an earlier one; a section named global alone is no job.
//
// Some input that fio accepts is refused, because fio does not do what it seems to mean: a blank after = (fio makes it
// part of the value, and reads bs= 4k as 1 byte), text after the ] of a section (fio cuts a letter off the name). So
// are ${VARIABLE} and $ncpus, $pagesize, $mb_memory: their values are not in the file, so a run could not be repeated
// from it. Other files are not included.
//
// All errors are returned together, joined, each with its line.
func ParseJobFile(r io.Reader) ([]Section, error) {
	p := jobFile{global: map[string]string{}, globals: map[string]int{}}
	p.lines(r)
	if len(p.sections) == 0 && len(p.errs) == 0 {
		p.fail(1, "the job file has no job", "a job begins with a line like [name]")
	}
	if len(p.errs) > 0 {
		return nil, p.errs
	}
	return p.sections, nil
}

type jobFile struct {
	sections []Section
	global   map[string]string
	globals  map[string]int // lines
	// inGlobal and inJob are set for the kind of section of the current line; neither before the first section.
	inGlobal, inJob bool
	errs            jobFileErrors
}

// jobFileErrors are all faults of a file.
type jobFileErrors []error

func (e jobFileErrors) Error() string {
	texts := make([]string, len(e))
	for i, err := range e {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "\n")
}

func (e jobFileErrors) Unwrap() []error { return e }

func (p *jobFile) fail(line int, what, hint string) {
	p.errs = append(p.errs, &lab.Error{
		Kind: lab.Usage, What: fmt.Sprintf("line %d: %s", line, what), Hints: []string{hint},
	})
}

func (p *jobFile) lines(r io.Reader) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	number := 0
	for in.Scan() {
		number++
		text := in.Text()
		if i := strings.IndexAny(text, ";#"); i >= 0 {
			text = text[:i]
		}
		text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
		switch {
		case text == "":
		case strings.HasPrefix(text, "["):
			p.section(text, number)
		default:
			p.option(text, number)
		}
	}
	if err := in.Err(); err != nil {
		p.fail(number+1, "can't be read: "+err.Error(), "a job file is plain text")
	}
}

func (p *jobFile) section(text string, line int) {
	name, closed := strings.CutSuffix(text[1:], "]")
	if !closed || name == "" {
		p.fail(line, fmt.Sprintf("%s is not a section", text), "write [name] and nothing after it")
	}
	p.inGlobal, p.inJob = name == "global", name != "global"
	if p.inJob {
		p.sections = append(p.sections, Section{
			Name: name, Line: line, Params: maps.Clone(p.global), Lines: maps.Clone(p.globals),
		})
	}
}

func (p *jobFile) option(text string, line int) {
	if name, ok := strings.CutPrefix(text, "include "); ok {
		p.fail(line, "can't include "+strings.TrimSpace(name), "put its lines here instead")
		return
	}
	key, value, given := strings.Cut(text, "=")
	key = strings.TrimSpace(key)
	switch {
	case !p.inGlobal && !p.inJob:
		p.fail(line, fmt.Sprintf("%s stands before the first section", text), "begin with a line [global] or [name]")
		return
	case strings.HasPrefix(value, " "), strings.HasPrefix(value, "\t"):
		p.fail(line, fmt.Sprintf("%s has a blank after =", text),
			"write "+key+"="+strings.TrimSpace(value)+": fio does not skip blanks")
		return
	case given && value == "":
		p.fail(line, fmt.Sprintf("%s has no value", text), "give one, or leave the line out")
		return
	}
	if v := variable(value); v != "" && !strings.HasPrefix(key, "exec_") {
		p.fail(line, fmt.Sprintf("%s depends on %s, which is not in the file", text, v), "write the value itself")
		return
	}
	if err := CheckParams(map[string]string{key: value}); err != nil {
		p.fail(line, err.Error(), "fio --cmdhelp lists the options of a job")
		return
	}
	if !given {
		value = "1"
	}
	params, lines := p.global, p.globals
	if p.inJob {
		s := &p.sections[len(p.sections)-1]
		if key == "name" {
			s.Name = value
			return
		}
		params, lines = s.Params, s.Lines
	}
	params[key], lines[key] = value, line
}

var replaced = prose.Pattern(`\$\{[^}]*\}|\$(ncpus|pagesize|mb_memory)`)

// variable returns the part of a value that fio would replace, or empty. $jobname, $jobnum and $filenum are replaced by
// filename_format, not here.
func variable(value string) string {
	return replaced().FindString(value)
}
