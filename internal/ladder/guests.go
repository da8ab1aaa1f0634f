package ladder

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
)

// Cause is why a disk of a guest is slower than the host's storage.
type Cause string

// The causes. Emulation is the cost of virtio or NVMe in QEMU, whatever is behind the disk; Storage is the path from
// QEMU to the data, and the device that holds it. Unclear means that the cause is unknown.
const (
	Emulation Cause = "emulation"
	Storage   Cause = "storage"
	Both      Cause = "both"
	Unclear   Cause = "unclear"
)

// GuestLoss is what one load does on the same storage through a guest.
type GuestLoss struct {
	// Rung of the guest's disk by its place from 0, and the cell.
	Rung int    `json:"rung"`
	Cell string `json:"cell,omitempty"`
	// Verdict and Cause are taken from the cell; the verdict alone where it holds for all loads.
	Verdict Verdict `json:"verdict"`
	Cause   Cause   `json:"cause,omitempty"`
	Text    string  `json:"text"`
}

// withoutStorage reports whether a guest's disk has no storage behind it, so that QEMU or the way to it causes any
// loss.
func (r *Rung) withoutStorage() bool {
	return r.Kind == Guest && (r.Backing == "null" || r.Backing == "memory")
}

// withoutStorageTwin returns the rung of a disk of the same guest that differs only in having no storage behind it; -1
// for none. It returns the first of several. A disk that is backed by nothing at all precedes the others.
func withoutStorageTwin(steps []Step, rung int) int {
	s := steps[rung]
	if s.Kind != Guest || s.withoutStorage() {
		return -1
	}
	return slices.IndexFunc(steps, func(o Step) bool {
		return o.withoutStorage() && o.Target == s.Target && o.Like != "" && o.Like == s.Like
	})
}

// emulationCeiling is what the same guest does on a disk without storage.
func (a *analysis) emulationCeiling(rung int, cell, metric string) []ceiling.Ceiling {
	i := withoutStorageTwin(a.steps, rung)
	if i < 0 {
		return nil
	}
	rates := a.series(i, cell, metric)
	if len(rates) == 0 {
		return nil
	}
	v := average(rates).Ratio
	return []ceiling.Ceiling{{Metric: metric, Value: v, Most: math.Inf(1), Limiter: a.steps[i].Name,
		Derivation: fmt.Sprintf("measured on %s, behind which there is no storage: %s", a.steps[i].Name,
			amount(lab.Metric(metric).Unit, v))}}
}

// attributeLosses says of each disk of a guest that falls short whether a disk without storage in the same guest does
// too.
func (a *analysis) attributeLosses(d *Document) {
	for i := range d.Rungs {
		r := &d.Rungs[i]
		if r.Kind != Guest {
			continue
		}
		for j := range r.Cells {
			cell := &r.Cells[j]
			switch {
			case !cell.Verdict.falls():
			case r.withoutStorage():
				cell.Cause = Emulation
			case r.withoutStorageRung < 0:
				cell.Cause = Unclear
			default:
				cell.Cause = causeOf(cell, &d.Rungs[r.withoutStorageRung].Cells[j], d.Margin)
			}
		}
	}
	d.Guests = a.guestLosses(d)
}

// causeOf decides by the intervals of both disks, which hold together with all others of the ladder.
func causeOf(disk, bare *Cell, margin float64) Cause {
	switch {
	case bare.Expected == nil || !slices.Equal(bare.Expected.Rungs, disk.Expected.Rungs):
		return Unclear
	case bare.Verdict == Reaches:
		return Storage
	case bare.Verdict.falls() && *disk.Reached.Hi < *bare.Reached.Lo*(1-margin):
		return Both
	case bare.Verdict.falls():
		return Emulation
	}
	return Unclear
}

// bareOf is the rung of a disk without storage that a cell of a guest's disk was decided by, and its cell; nil for
// none.
func bareOf(d *Document, r *Rung, c *Cell) (*Rung, *Cell) {
	if r.withoutStorageRung < 0 {
		return nil, nil
	}
	bare := &d.Rungs[r.withoutStorageRung]
	i := slices.IndexFunc(bare.Cells, func(o Cell) bool { return o.Cell == c.Cell })
	return bare, &bare.Cells[i]
}

// causeText returns text about why a guest's disk falls short.
func causeText(d *Document, r *Rung, c *Cell) string {
	itself := r.Interface + " itself"
	if r.withoutStorage() {
		return "there is no storage behind it, so it is " + itself + ", as QEMU carries it out"
	}
	bare, other := bareOf(d, r, c)
	if bare == nil {
		return "whether it is " + itself + " or the storage behind it is undecided: the guest has no disk with the " +
			"same kind, queues and iothreads, and with backing null or memory"
	}
	switch c.Cause {
	case Storage:
		return fmt.Sprintf("it is the storage behind it: %s is enough, for %s %s", itself, subject(bare),
			percent(other.Reached))
	case Emulation:
		return fmt.Sprintf("it is %s: %s %s as well, with no storage behind it", itself, subject(bare),
			percent(other.Reached))
	case Both:
		return fmt.Sprintf("it is %s (%s %s, with no storage behind it), and the storage behind it takes more", itself,
			subject(bare), percent(other.Reached))
	}
	text := "whether it is " + itself + " or the storage behind it is undecided: "
	switch {
	case other.Center == nil:
		return text + "no load on " + bare.Name + " ended well"
	case other.Expected == nil || !slices.Equal(other.Expected.Rungs, c.Expected.Rungs):
		return text + bare.Name + " is compared with another rung"
	}
	return text + openText(d, bare, other)
}

// guestLosses has an entry for each load that is not as fast through a guest, and one for a disk that all loads are as
// fast on. A disk without storage is reported where it explains no other disk.
func (a *analysis) guestLosses(d *Document) []GuestLoss {
	var list []GuestLoss
	explains := map[int]bool{}
	for i := range d.Rungs {
		explains[d.Rungs[i].withoutStorageRung] = true
	}
	for i := range d.Rungs {
		r := &d.Rungs[i]
		if r.Kind != Guest || r.withoutStorage() && explains[i] {
			continue
		}
		reaching, from := []string{}, ""
		for j := range r.Cells {
			cell := &r.Cells[j]
			t := GuestLoss{Rung: i, Cell: cell.Cell, Verdict: cell.Verdict, Cause: cell.Cause}
			switch {
			case cell.Verdict.falls():
				t.Text = fallText(d, r, cell, a.terms.CPUs)
			case cell.Verdict == Undecided:
				t.Text = "whether a guest loses anything is undecided: " + openText(d, r, cell)
			case cell.Verdict == Reaches:
				reaching, from = append(reaching, cell.Title), cell.Expected.From
				continue
			default:
				continue
			}
			list = append(list, t)
		}
		if len(reaching) > 0 {
			list = append(list, GuestLoss{Rung: i, Verdict: Reaches,
				Text: fmt.Sprintf("%s does what %s does in %s", r.Name, from, strings.Join(reaching, ", "))})
		}
	}
	return list
}
