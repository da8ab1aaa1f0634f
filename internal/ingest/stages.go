package ingest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// Source is a file or a directory that the user named, with the user's description of it.
type Source struct {
	Name string
	// Stage that all of it belongs to; empty if the user named none.
	Stage string
	// First and Last are the lines to read, from 1, both included; zeros mean all lines.
	First, Last int
}

// String returns the source as the user gave it.
func (s Source) String() string {
	if s.First == 0 {
		return s.Name
	}
	return fmt.Sprintf("%s:%d-%d", s.Name, s.First, s.Last)
}

// cut returns the source's lines of a file.
func (s Source) cut(data []byte) ([]byte, error) {
	if s.First == 0 {
		return data, nil
	}
	from, n := 0, 0
	for i := 0; i <= len(data); i++ {
		if i < len(data) && data[i] != '\n' {
			continue
		}
		if n++; n == s.First-1 {
			from = i + 1
		}
		if n == s.Last {
			return data[from:min(i+1, len(data))], nil
		}
	}
	if n > 0 && len(data) > 0 && data[len(data)-1] == '\n' {
		n--
	}
	return nil, fmt.Errorf("expected lines %d to %d, found %d lines", s.First, s.Last, n)
}

// staging assigns stages to measurements: the stage of their source, or stages in the order of a page. On a page a new
// stage begins with a load that the current stage already has, or at the prompt of another host.
//
// Headings are not read. They are prose: "IPoIB multipath" may be above a paragraph that quotes another measurement.
type staging struct {
	// source of the current file.
	source Source
	// order has the names of the stages of one page; nil if sources name their stages, or if there are none.
	order []string

	begun []begunStage
	seen  map[string]bool // the loads of the current stage
	host  string
	// number of the current stage. It is identified by its loads, not by its name: there may be more stages than names.
	at int
}

// begunStage is a stage with at least one measurement.
type begunStage struct {
	name, from string
	loads      int
}

func (s *staging) used() bool { return s.order != nil || s.source.Stage != "" }

// levels returns a measurement's levels with its stage added. load identifies the load, where is its position.
func (s *staging) levels(m measurement, load, where string) map[string]string {
	if !s.used() {
		return m.levels
	}
	if s.order != nil {
		s.inOrder(m, load, where)
	} else {
		s.named(where)
	}
	s.begun[s.at].loads++
	levels := maps.Clone(m.levels)
	if levels == nil {
		levels = map[string]string{}
	}
	levels[lab.StageLevel] = s.begun[s.at].name
	return levels
}

func (s *staging) inOrder(m measurement, load, where string) {
	elsewhere := s.host != "" && m.host != "" && s.host != m.host
	if len(s.begun) == 0 || s.seen[load] || elsewhere {
		s.at = len(s.begun)
		name := fmt.Sprintf("stage %d", s.at+1) // without a name for it there is an error, see check
		if s.at < len(s.order) {
			name = s.order[s.at]
		}
		s.begun = append(s.begun, begunStage{name: name, from: where})
		s.seen, s.host = map[string]bool{}, ""
	}
	s.seen[load] = true
	if m.host != "" {
		s.host = m.host
	}
}

func (s *staging) named(where string) {
	s.at = slices.IndexFunc(s.begun, func(b begunStage) bool { return b.name == s.source.Stage })
	if s.at < 0 {
		s.at = len(s.begun)
		s.begun = append(s.begun, begunStage{name: s.source.Stage, from: where})
	}
}

// check refuses ambiguous input: numbers of stages and of names that differ, and a stage without measurements.
func (s *staging) check(sources []Source) error {
	if s.order != nil && len(s.begun) != len(s.order) {
		var found []string
		for i, b := range s.begun {
			found = append(found, fmt.Sprintf("%d. from %s (%s)", i+1, b.from, counted(b.loads, "load", "loads")))
		}
		return &lab.Error{Kind: lab.Usage,
			What: fmt.Sprintf("%s named, and %s found, where one begins with a load that the one before has already, "+
				"or at another host's prompt:\n  %s",
				counted(len(s.order), "stage was", "stages were"), counted(len(s.begun), "was", "were"),
				strings.Join(found, "\n  ")),
			Hints: []string{"name as many as there are, in the order of the page",
				"or say which lines belong to which: --stage 'NAME=" + sources[0].Name +
					":FIRST-LAST', once for each stage"}}
	}
	for _, source := range sources {
		read := func(b begunStage) bool { return b.name == source.Stage }
		if source.Stage != "" && !slices.ContainsFunc(s.begun, read) {
			return &lab.Error{Kind: lab.Usage, What: fmt.Sprintf(
				"nothing was read for the stage %q: %s holds no results, or those that were given before, byte for byte", source.Stage, source),
				Hints: []string{"each stage needs separate lines"}}
		}
	}
	return nil
}

// stages returns the run's stages in the order in which they began.
func (s *staging) stages() []lab.Stage {
	var all []lab.Stage
	for _, b := range s.begun {
		all = append(all, lab.Stage{Name: b.name, From: b.from})
	}
	return all
}
