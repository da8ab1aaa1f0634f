// Package document handles the file of figures, build/figures.json: it is made from the figures that tests and
// benchmarks of several sections recorded, and two files can be compared. For scripts/bench only.
package document

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/testing/figure"
)

// Schema identifies the file.
const Schema = "headroom/figures/v1"

// Document is the file.
type Document struct {
	Schema string `json:"schema"`
	// Commit is the tree's version as printed by git describe, with "-dirty" if files differ from it.
	Commit  string          `json:"commit"`
	Time    time.Time       `json:"time"`
	Machine Machine         `json:"machine"`
	Figures []figure.Figure `json:"figures"`
}

// Machine is where the figures were measured; figures of different machines are hardly comparable.
type Machine struct {
	Kernel string `json:"kernel"`
	CPUs   int    `json:"cpus"`
	Model  string `json:"model"`
}

func (m Machine) String() string {
	return fmt.Sprintf("Linux %s, %d of %s", m.Kernel, m.CPUs, m.Model)
}

// Read reads a file and refuses one with another schema.
func Read(r io.Reader) (*Document, error) {
	var d Document
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return nil, err
	}
	if d.Schema != Schema {
		return nil, fmt.Errorf("the schema is %q; want %q", d.Schema, Schema)
	}
	return &d, nil
}

// Write writes the file with one figure a line, so that it is readable for people, too.
func (d *Document) Write(w io.Writer) error {
	head := struct {
		Schema  string    `json:"schema"`
		Commit  string    `json:"commit"`
		Time    time.Time `json:"time"`
		Machine Machine   `json:"machine"`
	}{d.Schema, d.Commit, d.Time, d.Machine}
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	text = append(text[:len(text)-1], `,"figures":[`...)
	for i, f := range d.Figures {
		line, err := json.Marshal(f)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, '\n'), line...)
	}
	_, err = w.Write(append(text, "\n]}\n"...))
	return err
}

// Add adds the figures of a section. Names are unique: a second figure of a name is an error, and is left out.
func (d *Document) Add(section string, figures []figure.Figure) error {
	var twice error
	for _, f := range figures {
		f.Section = section
		if slices.ContainsFunc(d.Figures, func(have figure.Figure) bool { return have.Name == f.Name }) {
			twice = fmt.Errorf("section %s: %s is recorded twice", section, f.Name)
			continue
		}
		d.Figures = append(d.Figures, f)
	}
	return twice
}

// Recorded reads the figures that figure.Record has written.
func Recorded(r io.Reader) ([]figure.Figure, error) {
	var all []figure.Figure
	for lines := json.NewDecoder(r); ; {
		var f figure.Figure
		switch err := lines.Decode(&f); err {
		case nil:
			all = append(all, f)
		case io.EOF:
			return all, nil
		default:
			return all, err
		}
	}
}
