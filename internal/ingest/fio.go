package ingest

import (
	"bytes"
	"fmt"
	"path"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
)

// fioJSON reads the output of fio with --output-format=json or json+, alone or with notes before, text after and
// further documents. It begins like this:
//
//	{
//	  "fio version" : "fio-3.33",
//	  "timestamp" : 1795196408,
func fioJSON() Importer {
	return Importer{
		Name:  "fio",
		Title: "fio's JSON and JSON+",
		Units: "bw_bytes are bytes a second, bw KiB/s; latencies of _ns in ns, those of fio 2 in us",
		Sniff: func(_ string, head []byte) bool { return bytes.Contains(head, []byte(`"fio version"`)) },
		read:  func(f file, d *runBuilder) error { return readFio(f, d, func(*measurement) {}) },
		text:  true,
	}
}

// besideJSON reports whether a text has lines that are not JSON. Lines of JSON begin with a bracket, a quotation mark
// or blanks.
func besideJSON(text []byte) bool {
	for line := range bytes.Lines(text) {
		if !bytes.ContainsAny(line[:1], "{}[]\" \t\r\n") {
			return true
		}
	}
	return false
}

// readFio adds every group of jobs in fio's documents. amend adds to a measurement what the importer knows in addition.
func readFio(f file, d *runBuilder, amend func(*measurement)) error {
	docs, err := d.parser.ParseBytes(f.data)
	if len(docs) > 0 && fio.IsCutOff(err) {
		// fio was ended while it printed a report, as with --status-interval.
		d.warn(lab.Warning{Code: "import-left-out", Text: fmt.Sprintf("the last document in %s is left out: %v", f.name,
			err)})
		err = nil
	}
	if err != nil {
		return err
	}
	for _, doc := range fio.Final(docs) {
		if err := addDocument(f, doc, d, amend); err != nil {
			return err
		}
	}
	return nil
}

func addDocument(f file, doc fio.Document, d *runBuilder, amend func(*measurement)) error {
	for _, g := range doc.Groups() {
		m := fromGroup(f, g, doc)
		amend(&m)
		if err := d.add(m); err != nil {
			return err
		}
	}
	return nil
}

// fromGroup makes the measurement of a group of fio's jobs.
func fromGroup(f file, g fio.Group, doc fio.Document) measurement {
	m := measurement{job: g.Name, engine: "fio", params: g.Params, ended: doc.Time, group: g, document: doc}
	m.repetition = lab.Repetition{Values: g.Values, Latency: g.Latency, Seconds: g.Seconds, Start: g.Start,
		Series: series(g), Samples: g.Samples}
	m.host = host(g)
	m.place = place(g.Params)
	if doc.Version != "" {
		m.facts = []lab.Fact{{Key: "fio.version", Value: doc.Version, Source: f.name}}
	}
	return m
}

// host returns where the jobs of a group ran, if they ran in one place.
func host(g fio.Group) string {
	name := ""
	for i, j := range g.Jobs {
		if i > 0 && j.Host != name {
			return ""
		}
		name = j.Host
	}
	return name
}

// place returns the measured place, as far as the options state it.
func place(options map[string]string) lab.Place {
	filename := options["filename"]
	if dev := device(filename); dev != "" {
		return lab.Place{Kind: lab.Device, Path: dev}
	}
	dir := options["directory"]
	if dir == "" && path.IsAbs(filename) {
		dir = path.Dir(filename)
	}
	if dir == "" {
		return lab.Place{}
	}
	return lab.Place{Kind: lab.Directory, Path: dir}
}

// series returns the per-second figures that fio keeps for its steadystate option. They cover both directions together,
// so they describe a metric only if the group has one direction and one job.
func series(g fio.Group) []lab.Series {
	if len(g.Jobs) != 1 || g.Jobs[0].SteadyState == nil || len(g.Jobs[0].Directions) != 1 {
		return nil
	}
	var all []lab.Series
	for direction := range g.Jobs[0].Directions {
		s := g.Jobs[0].SteadyState
		if len(s.IOPS) > 1 {
			all = append(all, lab.Series{Metric: lab.IOPS(direction), Interval: 1, Values: slices.Clone(s.IOPS)})
		}
		if len(s.Bandwidth) > 1 {
			all = append(all, lab.Series{Metric: lab.Bandwidth(direction), Interval: 1,
				Values: slices.Clone(s.Bandwidth)})
		}
	}
	return all
}
