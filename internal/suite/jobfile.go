package suite

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
)

// DecodeJobFile reads a plain fio job file as a suite. name is the file's name, for messages and for the suite's name.
// The error holds all Problems at once.
//
//	[global]
//	ioengine=libaio
//	[randread]
//	rw=randread
//	size=1g
//
// Each section becomes a job with the meaning that fio gives it, with these exceptions:
//
//   - Sections without stonewall between them, which fio runs at the same time, are refused: their numbers would
//     describe neither load alone. So are the parameters in refusals, except that those about reporting are left out
//     with a note.
//   - The place comes from filename or directory, and must be the same for all sections. A file becomes the directory
//     that contains it, where headroom lays out a separate scratch file: the existing file is not overwritten.
//   - Without filename, fio gives each process of a section a separate file; here each has a part of the only scratch
//     file.
func DecodeJobFile(name string, data []byte) (Suite, error) {
	d := &jobFile{reporter: *newReporter(name), reported: map[string]bool{}}
	sections, err := fio.ParseJobFile(bytes.NewReader(data))
	if err != nil {
		d.parseErrors(err)
		return Suite{}, d.Err()
	}
	s := Suite{Name: nameFrom(name), Title: "the fio job file " + filepath.Base(name), Source: name,
		Order: Interleaved, Repetitions: defaultRepetitions, Text: string(data)}
	taken := map[string]bool{}
	for i, section := range sections {
		if i > 0 && !waitsForPrevious(section, sections[i-1]) {
			d.Add(section.Line, 0,
				"add stonewall to "+section.Name+" and to each job below it; processes that do the same are numjobs",
				"%s would run at the same time as %s", section.Name, sections[i-1].Name)
		}
		j := d.job(section)
		j.Name = unique(jobName(section.Name), taken)
		s.Jobs = append(s.Jobs, j)
	}
	s.Path, s.Place, s.Notes = d.path, d.place(), d.notes
	if s.Place != Device {
		for _, j := range s.Jobs {
			s.Size = max(s.Size, int64(min(extentEnd(j.Fio), 1<<62)))
		}
	}
	d.checkCells(s)
	if err := d.Err(); err != nil {
		return Suite{}, err
	}
	return s, nil
}

// ResolvePath returns the place to run a suite on: the path that was typed, or else the one in its fio job file. If
// both are given they must agree, because the file may have been written for another machine.
func (s Suite) ResolvePath(typed string) (string, error) {
	switch {
	case typed == "":
		return s.Path, nil
	case s.Path == "", filepath.Clean(typed) == s.Path:
		return typed, nil
	}
	return "", &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("the command line says %s, and the job file %s", typed,
		s.Path),
		Hints: []string{"delete filename and directory from the job file, or leave out " + typed}}
}

// jobFile is the state of reading one job file.
type jobFile struct {
	reporter
	path     string // of the device or the directory; empty until a section names one
	owner    string // the section that named it
	notes    []string
	reported map[string]bool
}

// parseErrors turns the errors of the parser into problems. Their text begins with the line: "line 3: …".
func (d *jobFile) parseErrors(err error) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, one := range all {
		line, message, hint := 0, one.Error(), ""
		if rest, ok := strings.CutPrefix(message, "line "); ok {
			if digits, after, ok := strings.Cut(rest, ": "); ok {
				if n, err := strconv.Atoi(digits); err == nil {
					line, message = n, after
				}
			}
		}
		var known *lab.Error
		if errors.As(one, &known) {
			hint = strings.Join(known.Hints, "; ")
		}
		d.Add(line, 0, hint, "%s", message)
	}
}

// waitsForPrevious reports whether fio starts a section only after the section above has ended.
func waitsForPrevious(section, above fio.Section) bool {
	for _, name := range []string{"stonewall", "wait_for_previous"} {
		if v := section.Params[name]; v != "" && v != "0" {
			return true
		}
	}
	return section.Params["wait_for"] == above.Name
}

// job reads one section.
func (d *jobFile) job(section fio.Section) Job {
	j := Job{Title: section.Name, Line: section.Line, Fio: map[string]string{}}
	before := len(d.Problems)
	from := map[string]int{} // the line that a parameter's value is from
	for _, typed := range slices.Sorted(maps.Keys(section.Params)) {
		line := section.Lines[typed]
		if typed == "filename" || typed == "directory" {
			continue
		}
		if refused, ok := refusalOf(CanonicalName(typed)); ok && refused.harmless {
			if name := CanonicalName(typed); name != "stonewall" && name != "wait_for" { // these keep their meaning
				d.note("%s is left out: %s", typed, refused.why)
			}
			continue
		}
		name, complaint, hint := parameterName(typed)
		value := ""
		if complaint == "" {
			value, complaint, hint = parameterValue(name, section.Params[typed])
		}
		switch {
		case complaint != "":
			d.reportOnce(line, hint, complaint)
		case line >= from[name]: // of two names for one parameter fio takes the later one
			from[name], j.Fio[name] = line, value
		}
	}
	if j.Fio["rw"] == "" {
		j.Fio["rw"] = "read" // fio's default
	}
	if touchesStorage(j.Fio) {
		d.where(section)
		d.ownParts(section, j.Fio)
	}
	j.faulty = len(d.Problems) > before
	return j
}

// reportOnce reports a fault of a line once; a global section's lines are repeated in every job.
func (d *jobFile) reportOnce(line int, hint, message string) {
	if key := strconv.Itoa(line) + message; !d.reported[key] {
		d.reported[key] = true
		d.Add(line, 0, hint, "%s", message)
	}
}

// note records for the user a deviation from the file's literal content.
func (d *jobFile) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(d.notes, n) {
		d.notes = append(d.notes, n)
	}
}

// where finds the place that a section works on.
func (d *jobFile) where(section fio.Section) {
	file, directory := section.Params["filename"], section.Params["directory"]
	line := max(section.Lines["filename"], section.Lines["directory"])
	if file == "" && directory == "" {
		return
	}
	if strings.Contains(file+directory, ":") || file == "-" {
		d.reportOnce(line, "name one device or one directory", "headroom measures one place at a time")
		return
	}
	path := directory
	if file != "" {
		path = filepath.Join(directory, file)
		if !isDevice(path) {
			d.note("%s is not touched: headroom lays out a separate file in %s", path, filepath.Dir(path))
			path = filepath.Dir(path)
		}
	}
	path = filepath.Clean(path)
	switch {
	case d.path == "":
		d.path, d.owner = path, section.Name
	case d.path != path:
		d.reportOnce(line, "headroom measures one place at a time: make a job file for each",
			fmt.Sprintf("%s works on %s, and %s on %s", section.Name, path, d.owner, d.path))
	}
}

// isDevice distinguishes a device from a file by its path alone; the file systems mounted under /dev contain files.
func isDevice(path string) bool {
	mounted := strings.HasPrefix(path, "/dev/shm/") || strings.HasPrefix(path, "/dev/hugepages/")
	return strings.HasPrefix(path, "/dev/") && !mounted
}

// place returns the kind of place that the sections work on.
func (d *jobFile) place() Place {
	switch {
	case d.path == "":
		return Any
	case isDevice(d.path):
		return Device
	}
	return Directory
}

// ownParts gives each process a part of the scratch file, in place of the separate file that fio would make.
func (d *jobFile) ownParts(section fio.Section, params map[string]string) {
	if section.Params["filename"] != "" {
		return
	}
	n := processes(params)
	size, absolute := params["size"], extentEnd(params) > 0
	switch {
	case size == "":
		d.reportOnce(section.Line, "add size=1g, for example", section.Name+" does not say how large its file is")
	case n > 1 && absolute && params["offset_increment"] == "":
		params["offset_increment"] = size
		d.note("the %d processes of %s have a part each of one file, where fio would give each a separate file",
			n, section.Name)
	}
}

// nameFrom makes a suite's name from the name of its file.
func nameFrom(file string) string {
	return jobName(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
}

// jobName makes a name that is valid in a file name from any text.
func jobName(s string) string {
	name := strings.ReplaceAll(strings.TrimSpace(s), " ", "_")
	name = strings.Map(func(r rune) rune {
		if r == '-' {
			return r
		}
		return rune(fileName(string(r))[0])
	}, name)
	if name = name[:min(len(name), 60)]; !isName(name) {
		name = "job-" + name[:min(len(name), 56)]
	}
	return name
}
