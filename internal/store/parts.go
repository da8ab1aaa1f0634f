package store

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
)

// Parts are the arms of an experiment, in their order, each to be read as a run: those that are kept in its bundle, or
// the bundles of its arms that older versions wrote, of which b is any. There are none where a run has one arm.
func (s *Store) Parts(b *Bundle) ([]*Bundle, error) {
	if b.Run.Pair != "" && b.arm == "" {
		return s.OlderArms(b)
	}
	var parts []*Bundle
	for _, arm := range b.Whole().Run.PartNames() {
		parts = append(parts, b.Whole().Part(arm))
	}
	return parts, nil
}

// OlderArms are the bundles of an experiment of which older versions wrote one an arm, of which b is any; none where it
// is a bundle by itself.
func (s *Store) OlderArms(b *Bundle) ([]*Bundle, error) {
	if b.Run.Pair == "" {
		return nil, nil
	}
	rows, damaged := s.List()
	var found []*Bundle
	for _, row := range rows {
		if row.Pair != b.Run.Pair {
			continue
		}
		arm, err := s.Find(row.ID)
		if err != nil {
			return nil, errors.Join(err, damaged)
		}
		found = append(found, arm)
	}
	slices.SortStableFunc(found, func(a, b *Bundle) int {
		return cmp.Or(olderNumber(a.Run)-olderNumber(b.Run), a.Run.Created.Compare(b.Run.Created))
	})
	return found, nil
}

// olderNumber is the place among the arms that such a bundle names: a rung, a layer, or the base of two sides.
func olderNumber(run lab.Run) int {
	for _, a := range run.Arms {
		for _, level := range []string{"rung", "layer"} {
			if n, err := strconv.Atoi(a.Levels[level]); err == nil {
				return n
			}
		}
	}
	if run.ID == run.Pair {
		return 0
	}
	return 1
}

// Part is an arm of a run that PartNames of its header has, read as a run by itself.
//
// Arms that were measured one after the other end by themselves: one that has its second snapshot is complete.
func (b *Bundle) Part(arm string) *Bundle {
	p := &Bundle{dir: b.dir, Run: b.Run.Part(arm), arm: arm, whole: b}
	if len(p.Known(After)) > 0 {
		p.Run.Status = lab.Complete
	}
	return p
}

// Whole is the bundle of which b is a part, or b.
func (b *Bundle) Whole() *Bundle {
	if b.whole != nil {
		return b.whole
	}
	return b
}

// Arm returns the name of a part's arm. It is empty for a bundle.
func (b *Bundle) Arm() string { return b.arm }

// findPart finds the part that RUN:ARM names; nil where no run is called RUN.
func (s *Store) findPart(ref string) (*Bundle, error) {
	run, arm := lab.CutArm(ref)
	if run == "" {
		return nil, nil
	}
	b, err := s.Find(run)
	if err != nil {
		return nil, nil
	}
	return b.named(arm)
}

// named is an arm of the bundle.
func (b *Bundle) named(arm string) (*Bundle, error) {
	arms := b.Run.PartNames()
	switch {
	case slices.Contains(arms, arm):
		return b.Part(arm), nil
	case len(arms) == 0:
		return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("run %s has no arms that could be named", b.Run.ID),
			Hints: []string{"name the run: " + b.Run.ID}}
	}
	return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("run %s has no arm %q", b.Run.ID, arm),
		Hints: []string{"it has " + strings.Join(arms, ", ")}}
}

// FindWhole is Find for commands that resume a run: an arm names the whole.
func (s *Store) FindWhole(ref string) (*Bundle, error) {
	b, err := s.Find(ref)
	if err != nil {
		return nil, err
	}
	return b.Whole(), nil
}

// FindBundle is Find for what is done to a bundle: an arm of one is refused.
func (s *Store) FindBundle(ref string) (*Bundle, error) {
	b, err := s.Find(ref)
	if err == nil && b.arm != "" {
		return nil, &lab.Error{Kind: lab.Usage,
			What:  fmt.Sprintf("%s is an arm of run %s, and this is done with whole runs", ref, b.whole.Run.ID),
			Hints: []string{"name the run: " + b.whole.Run.ID}}
	}
	return b, err
}

// role returns a target's role in the names of the bundle's files: in a part it is the name of the arm.
func (b *Bundle) role(role string) string {
	if b.arm != "" && role == lab.StorageRole {
		return b.arm
	}
	return role
}

// repetitionsOfPart yields the repetitions of an arm. Their cells have names without the arm.
func (b *Bundle) repetitionsOfPart() iter.Seq2[lab.Repetition, error] {
	return func(yield func(lab.Repetition, error) bool) {
		of := lab.CellIn("", b.arm)
		for rep, err := range b.whole.Repetitions() {
			cell, own := strings.CutSuffix(rep.Cell, of)
			if err == nil && !own {
				continue
			}
			rep.Cell, rep.After = cell, strings.TrimSuffix(rep.After, of)
			for i, name := range rep.Raw {
				rep.Raw[i], _ = b.rawOfPart(name)
			}
			if !yield(rep, err) {
				return
			}
		}
	}
}

// rawOfPart is the name of a raw file without its arm, "reads/1/output.json" of "reads@base/1/output.json"; ok is false
// where it is of another.
func (b *Bundle) rawOfPart(name string) (own string, ok bool) {
	cell, rest, _ := strings.Cut(name, "/")
	cell, ok = strings.CutSuffix(cell, lab.CellIn("", b.arm))
	return cell + "/" + rest, ok
}

// rawFilesOfPart are the raw files of an arm.
func (b *Bundle) rawFilesOfPart() iter.Seq2[lab.RawFile, error] {
	return func(yield func(lab.RawFile, error) bool) {
		for f, err := range b.whole.Raw() {
			name, own := b.rawOfPart(f.Name)
			if err == nil && !own {
				continue
			}
			if f.Name = name; !yield(f, err) {
				return
			}
		}
	}
}

// PartWriter writes an arm of a bundle as if it were a run by itself.
type PartWriter struct {
	*Writer
	arm string
}

// Part writes an arm.
func (w *Writer) Part(arm string) *PartWriter { return &PartWriter{w, arm} }

// Raw adds a raw file of the arm to the bundle, under the name that the file has there.
func (w *PartWriter) Raw(name string, data []byte) error { return w.Writer.Raw(w.rawName(name), data) }

func (w *PartWriter) rawName(name string) string {
	cell, rest, _ := strings.Cut(name, "/")
	return lab.CellIn(cell, w.arm) + "/" + rest
}

// Repetition adds a repetition of the arm to the bundle, with the arm in the name of its cell.
func (w *PartWriter) Repetition(rep lab.Repetition) error {
	rep.Cell = lab.CellIn(rep.Cell, w.arm)
	if rep.After != "" {
		rep.After = lab.CellIn(rep.After, w.arm)
	}
	rep.Raw = slices.Clone(rep.Raw)
	for i, name := range rep.Raw {
		rep.Raw[i] = w.rawName(name)
	}
	return w.Writer.Repetition(rep)
}

// Facts keeps a snapshot of the arm's target.
func (w *PartWriter) Facts(_ string, when SnapshotTime, d facts.Document) error {
	return w.Writer.Facts(w.arm, when, d)
}
