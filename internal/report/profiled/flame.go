package profiled

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/profile/layer"
	"github.com/headroom/headroom/internal/profile/stacks"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// Frames narrower than this share of a picture are left out: on a desktop they are less than two pixels wide.
// mostFrames limits their number, so that a page stays small.
const (
	narrowestFrame = 0.001
	mostFrames     = 2500
)

// flame returns the flame graph of a cell; nothing if no stacks were sampled.
func (t text) flame(c Cell) []document.Block {
	if c.Stacks.Total() == 0 {
		return nil
	}
	root := c.Stacks.Tree()
	f := document.Flame{Title: "CPU time per I/O by stack: " + cellName(c),
		Note: prose.Join(nanoseconds(root.Mean()), t.signs[EmulatedGuest]), Total: nanoseconds(root.Mean()) +
			" per I/O"}
	least := pruned(root)
	layers := newFlameLayers(t.Layers, c.Modules)
	f.Layers = layers.list
	callsOf := map[string]*cost.LoadMean{}
	for _, fn := range c.Functions {
		callsOf[fn.Name] = fn.Calls
	}
	f.Frames = framesOf(root, least, func(n *stacks.Node, stack []string) document.Frame {
		layer, title := layers.of(stack)
		text := nanoseconds(n.Mean()) + " per I/O, " + unit.Percent(n.Mean()/root.Mean())
		if title != "" {
			text += "; " + title
		}
		if e := callsOf[n.Name]; e != nil {
			text += fmt.Sprintf("; %s calls per I/O wherever it is called from", calls(e.Mean))
		}
		return document.Frame{Text: text, Layer: layer}
	})
	f.Reading = fmt.Sprintf("Each frame is as wide as the CPU time per I/O of the function and all that it called, "+
		"from %s. Frames of less than %s are left out.", prose.Count(c.Stacks.Loads, "load"), unit.RoundPercent(least))
	return []document.Block{f}
}

// flameLayers finds the layers of frames.
type flameLayers struct {
	layers  *layer.Layers
	modules map[string]string
	list    []document.FlameLayer
	places  map[string]int
}

func newFlameLayers(layers *layer.Layers, modules ...map[string]string) flameLayers {
	f := flameLayers{layers: layers, modules: map[string]string{}, places: map[string]int{}}
	for _, m := range modules {
		maps.Copy(f.modules, m)
	}
	if layers != nil {
		for i, l := range layers.All() {
			f.list = append(f.list, document.FlameLayer{ID: l.ID, Title: l.Title})
			f.places[l.ID] = i
		}
	}
	return f
}

// of returns the index and the title of the layer of a stack's innermost frame, whose outermost frame names a thread;
// -1 for none.
func (f flameLayers) of(stack []string) (place int, title string) {
	if f.layers == nil || len(stack) < 2 {
		return -1, ""
	}
	id := f.layers.OfStack(stack[1:], f.modules)
	if id == "programs" { // only the load's stacks are here: it calls libraries
		id = "load"
	}
	i, known := f.places[id]
	if !known {
		return -1, ""
	}
	return i, f.list[i].Title
}

// pruned returns the share of the whole below which frames are left out.
func pruned(root *stacks.Node) float64 {
	var widths []float64
	var visit func(*stacks.Node)
	visit = func(n *stacks.Node) {
		for _, c := range n.Children {
			widths = append(widths, c.Width/root.Width)
			visit(c)
		}
	}
	visit(root)
	if len(widths) <= mostFrames {
		return narrowestFrame
	}
	slices.SortFunc(widths, func(a, b float64) int { return cmp.Compare(b, a) })
	return max(narrowestFrame, widths[mostFrames])
}

// framesOf returns the frames on the root. describe gets each node with its stack of frames.
func framesOf(root *stacks.Node, least float64, describe func(*stacks.Node, []string) document.Frame) []document.Frame {
	var of func(n *stacks.Node, stack []string) []document.Frame
	of = func(n *stacks.Node, stack []string) []document.Frame {
		var list []document.Frame
		for _, c := range n.Children {
			if c.Width < least*root.Width {
				continue
			}
			above := append(slices.Clone(stack), c.Name)
			frame := describe(c, above)
			frame.Name, frame.Width, frame.Children = c.Name, c.Width, of(c, above)
			list = append(list, frame)
		}
		return list
	}
	return of(root, nil)
}

// flameOfDifference shows the stacks of both sides in one picture.
func (t text) flameOfDifference(c difference.Cell, a, b Cell) []document.Block {
	if a.Stacks.Total() == 0 || b.Stacks.Total() == 0 {
		return nil
	}
	names := map[string]string{}
	for _, r := range c.Renamed {
		names[r.A] = r.B
	}
	root := stacks.Difference(a.Stacks, b.Stacks, names)
	least := pruned(root)
	layers := newFlameLayers(t.Layers, a.Modules, b.Modules)
	f := document.Flame{Title: "CPU time per I/O by stack, B against A: " + c.Cell, Difference: true,
		Note:  nanoseconds(root.MeanBefore()) + " → " + nanoseconds(root.Mean()),
		Total: "what both sides spend"}
	f.Frames = framesOf(root, least, func(n *stacks.Node, stack []string) document.Frame {
		_, title := layers.of(stack)
		text := nanoseconds(n.MeanBefore()) + " → " + nanoseconds(n.Mean()) + " per I/O (" +
			signed(n.Mean()-n.MeanBefore(), nanoseconds) + ")"
		if title != "" {
			text += "; " + title
		}
		return document.Frame{Text: text, Change: changeOf(n)}
	})
	f.Reading = fmt.Sprintf("Each frame is as wide as the time on the side that has more of it, so functions that "+
		"disappeared are visible, too. Frames have a colour if they differ by a tenth or more and loads of both sides "+
		"don't overlap; the tables show what is proved. Other programs are left out, and so are frames of less than %s.",
		unit.RoundPercent(least))
	return []document.Block{f}
}

// leastChange is the relative change from which a frame has a colour.
const leastChange = 0.1

// changeOf returns the gain or loss as a share of the larger side; 0 if the loads of both sides overlap, or if it is
// small.
func changeOf(n *stacks.Node) float64 {
	if len(n.NS) == 0 || len(n.NSBefore) == 0 ||
		slices.Min(n.NS) <= slices.Max(n.NSBefore) && slices.Min(n.NSBefore) <= slices.Max(n.NS) {
		return 0
	}
	change := (n.Mean() - n.MeanBefore()) / max(n.Mean(), n.MeanBefore())
	if math.Abs(change) < leastChange {
		return 0
	}
	return change
}
