package iperf3

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"

	"github.com/headroom/headroom/internal/prose"
)

// Is reports whether a text has documents of iperf3: with the version at their beginning, or with an end whose
// beginning was cut out.
func Is(head []byte) bool {
	return bytes.Contains(head, []byte(`"iperf 3.`)) && (bytes.Contains(head, []byte(`"start"`)) ||
		bytes.Contains(head, []byte(`"connected"`))) ||
		bytes.Contains(head, []byte(`"sum_received"`)) && bytes.Contains(head, []byte(`"bits_per_second"`))
}

// Parse parses the only test of a text: a document of --json, with or without text before and after it, or the lines of
// --json-stream.
func Parse(text []byte) (Result, error) {
	all, _, err := ParseAll(text)
	switch {
	case err != nil:
		return Result{}, err
	case len(all) > 1:
		return Result{}, fmt.Errorf("expected one test, found %d", len(all))
	}
	return all[0], nil
}

// ParseAll parses all tests of a text: documents one after the other, in arrays or in other documents, and the lines of
// --json-stream. With --json-stream-full-output both describe the same test, which is returned once. Damaged has the
// numbers of the lines at which damaged documents begin.
//
//	{"event":"start","data":{"connected":[{"socket":5,"local_host":"127.0.0.1",…
//	{"event":"interval","data":{"streams":[…],"sum":{"start":0,"end":1.000589,…
//	{"event":"error","data":"unable to connect to server: Connection refused"}
//
// Source: iperf_json_finish in iperf_api.c.
func ParseAll(text []byte) (all []Result, damaged []int, err error) {
	text = withoutNaN(text)
	p := &documents{}
	var first error
	line, counted := 1, 0
	for at := next(text, 0, anyObject()); at >= 0; {
		line, counted = line+bytes.Count(text[counted:at], []byte("\n")), at
		p.line = line
		d := json.NewDecoder(bytes.NewReader(text[at:]))
		var raw json.RawMessage
		fault := d.Decode(&raw)
		if fault == nil {
			fault = p.value(raw, mostNested)
		}
		if fault == nil {
			at = next(text, at+int(d.InputOffset()), anyObject())
			continue
		}
		if errors.Is(fault, io.ErrUnexpectedEOF) {
			fault = errors.New("it is cut off")
		}
		if begins := documentStart().FindIndex(text[at:]); begins != nil && begins[0] == 0 && p.stream == nil {
			damaged = append(damaged, line)
		}
		if first == nil {
			first = fault
		}
		if len(damaged) > mostDamaged {
			return nil, nil, fmt.Errorf("more than %d documents are damaged: %w", mostDamaged, first)
		}
		at = next(text, at+1, documentStart())
	}
	p.finish()
	for _, d := range p.found {
		r, err := d.result()
		if err != nil {
			damaged = append(damaged, d.line)
			if first == nil {
				first = err
			}
			continue
		}
		i := slices.IndexFunc(all, r.Same)
		switch {
		case i < 0:
			all = append(all, r)
		case !r.AtServer:
			all[i] = r
		}
	}
	switch {
	case len(all) > 0:
		return all, damaged, nil
	case first != nil:
		return nil, nil, fmt.Errorf("line %d: damaged or cut off: %w", cmp.Or(append(damaged, 1)...), first)
	}
	return nil, nil, errors.New("expected a JSON object of iperf3, found none")
}

// Same reports whether another result is of the same test: both ends print its cookie, and one end may print it twice.
func (r Result) Same(other Result) bool {
	return r.Cookie != "" && r.Cookie == other.Cookie &&
		(r.AtServer != other.AtServer || maps.Equal(r.Values(), other.Values()))
}

var (
	anyObject = prose.Pattern(`\{`)
	// documentStart is the beginning of a document, or of the first event of a test.
	documentStart = prose.Pattern(`\{\s*"(?:start"\s*:\s*\{|event"\s*:\s*"start")`)
)

// next returns where a pattern matches from a position on; -1 if it does not.
func next(text []byte, from int, pattern *regexp.Regexp) int {
	if m := pattern.FindIndex(text[from:]); m != nil {
		return from + m[0]
	}
	return -1
}

const (
	// mostNested is how deep in other JSON a document of iperf3 is searched for.
	mostNested = 4
	// mostDamaged is how many documents can be damaged before the rest is ignored.
	mostDamaged = 100
)

// documents collects the documents of a text.
type documents struct {
	found []document
	// stream is the test whose events are read; nil if there is none.
	stream *document
	// line at which the current value begins.
	line int
}

// finish ends the test whose events were read.
func (p *documents) finish() {
	if p.stream != nil {
		p.found = append(p.found, *p.stream)
	}
	p.stream = nil
}

// value reads a document, an event, or a value that contains documents.
func (p *documents) value(raw json.RawMessage, depth int) error {
	raw = bytes.TrimSpace(raw)
	var list []json.RawMessage
	switch {
	case depth == 0:
		return nil
	case bytes.HasPrefix(raw, []byte("[")):
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
	case bytes.HasPrefix(raw, []byte("{")):
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			return err
		}
		var event string
		if json.Unmarshal(members["event"], &event) == nil && event != "" {
			return p.event(event, members["data"])
		}
		has := func(name string) bool { return bytes.HasPrefix(members[name], []byte("{")) }
		if has("start") && (has("end") || members["error"] != nil) || has("end") && members["start"] == nil {
			p.finish()
			d := document{line: p.line}
			if err := json.Unmarshal(raw, &d); err != nil {
				return err
			}
			p.found = append(p.found, d)
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			list = append(list, members[name])
		}
	}
	for _, one := range list {
		if err := p.value(one, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// event reads a line of --json-stream.
func (p *documents) event(name string, data []byte) error {
	if name == "start" || p.stream == nil {
		p.finish()
		p.stream = &document{line: p.line}
	}
	d := p.stream
	var into any
	switch name {
	case "start":
		into = &d.Start
	case "interval":
		d.Intervals = append(d.Intervals, interval{})
		into = &d.Intervals[len(d.Intervals)-1]
	case "end":
		into = &d.End
	case "error":
		into = &d.Error
	case "server_output_json":
		into = &d.Server
	default:
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("the event %q is damaged: %w", name, err)
	}
	return nil
}
