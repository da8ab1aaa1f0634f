package document

import "slices"

// Plots are pictures to compare side by side. Texts leave them out; a file for other programs has their points.
type Plots struct {
	// Title is above the pictures; empty for none.
	Title string
	List  []Plot
	// Open is how many pictures a page shows at first; 0 is the default.
	Open int
	// Reading explains how to read the pictures.
	Reading string
}

// Plot is a picture of values along an axis: over time, over the levels of a setting, or over things by name.
type Plot struct {
	// Title names what is drawn, and Note adds a little, such as a verdict.
	Title, Note string
	// Address leads to more of it; empty for none.
	Address string
	// X is the horizontal axis and Y the vertical one. Values are on Y, unless Y has names.
	X, Y   Axis
	Series []Series
	// Marks are places along the axis where something changed.
	Marks []Mark
	// References are values to compare the points with, and Bands areas between two values.
	References []Reference
	Bands      []Band
	// Tabled is set if a table of the document has the same numbers.
	Tabled bool
}

// Scale is how an axis maps values to positions.
type Scale string

const (
	// Linear is a scale on which equal differences are equally far apart.
	Linear Scale = "linear"
	// Logarithmic is a scale on which equal ratios are equally far apart.
	Logarithmic Scale = "logarithmic"
	// Ratio is a logarithmic scale of changes: 1 is no change, and ticks are percentages, or factors if they are large.
	Ratio Scale = "ratio"
	// Time is a scale of seconds since 1970.
	Time Scale = "time"
	// Names is a scale of things: the positions 0, 1 and so on have the names of the axis.
	Names Scale = "names"
)

// Axis is an axis of a plot. It covers all points, and From and To if they are set.
type Axis struct {
	// Title names the quantity along it: "read IOPS".
	Title string
	// Unit is the base unit of its values.
	Unit     string
	Scale    Scale
	Names    []string
	From, To *float64
	// Clipped axes end at From and To: points beyond them are drawn at the end, with an arrow.
	Clipped bool
}

// Series are points that belong together.
type Series struct {
	// Direction is "read" or "write", which have a colour and a sign each, or something else.
	Direction string
	// Name distinguishes the series from others of the picture.
	Name string
	// Joined points have a line through them; Bars reach from zero to the value. A Line has no marks because it has too
	// many points for them. Filled tints the area below the points.
	Joined, Bars, Line, Filled bool
	Points                     []Point
	// Levels are constant values of the points over intervals of the axis.
	Levels []Level
}

// Point is a value at a place along the other axis.
type Point struct {
	At, Value float64
	// Lo and Hi are the interval of the value; nil for none.
	Lo, Hi *float64
	// Name distinguishes the point from others, and Text is the value with its interval as people read it.
	Name, Text string
	// Codes are the codes of the warnings that taint it.
	Codes []string
	// Faint points prove nothing.
	Faint bool
}

// Level is a value that holds from one place to another.
type Level struct{ From, To, Value float64 }

// Mark is an event at a position.
type Mark struct {
	At   float64
	Text string
}

// Reference is a value to compare points with: between two positions, or everywhere if these are equal.
type Reference struct {
	Level
	// Name is written next to it.
	Name string
	// Dashed is set if the value was not measured, such as a limit that the user set.
	Dashed bool
}

// Band is the area between two values, from one position to another: a margin. It spans the whole axis if the positions
// are equal.
type Band struct{ From, To, Lo, Hi float64 }

func (Plots) block() {}

// Points counts the points of all series.
func (p Plot) Points() int {
	n := 0
	for _, s := range p.Series {
		n += len(s.Points)
	}
	return n
}

// Thinned returns the plot with at most this many points for each series. If there are more, each stretch keeps its
// lowest and its highest value in their order, as an oscilloscope does, so that no stall is averaged away.
func (p Plot) Thinned(most int) Plot {
	p.Series = slices.Clone(p.Series)
	for i, s := range p.Series {
		p.Series[i].Points = thinned(s.Points, most)
	}
	return p
}

func thinned(points []Point, most int) []Point {
	if len(points) <= most {
		return points
	}
	var out []Point
	stretches := most / 2
	for k := range stretches {
		from, to := k*len(points)/stretches, (k+1)*len(points)/stretches
		low, high := from, from
		for i := from; i < to; i++ {
			if points[i].Value < points[low].Value {
				low = i
			}
			if points[i].Value > points[high].Value {
				high = i
			}
		}
		out = append(out, points[min(low, high)])
		if low != high {
			out = append(out, points[max(low, high)])
		}
	}
	return out
}

func (p Plots) rewritten(rewrite func(string) string) Plots {
	out := Plots{Title: rewrite(p.Title), Open: p.Open, Reading: rewrite(p.Reading)}
	for _, plot := range p.List {
		out.List = append(out.List, plot.rewritten(rewrite))
	}
	return out
}

func (p Plot) rewritten(rewrite func(string) string) Plot {
	p.Title, p.Note = rewrite(p.Title), rewrite(p.Note)
	p.X, p.Y = p.X.rewritten(rewrite), p.Y.rewritten(rewrite)
	series := make([]Series, len(p.Series))
	for i, s := range p.Series {
		points := make([]Point, len(s.Points))
		for j, at := range s.Points {
			at.Name, at.Text = rewrite(at.Name), rewrite(at.Text)
			points[j] = at
		}
		s.Name, s.Points = rewrite(s.Name), points
		series[i] = s
	}
	marks := make([]Mark, len(p.Marks))
	for i, m := range p.Marks {
		marks[i] = Mark{m.At, rewrite(m.Text)}
	}
	references := make([]Reference, len(p.References))
	for i, r := range p.References {
		r.Name = rewrite(r.Name)
		references[i] = r
	}
	p.Series, p.Marks, p.References = series, marks, references
	return p
}

func (a Axis) rewritten(rewrite func(string) string) Axis {
	a.Title = rewrite(a.Title)
	names := make([]string, len(a.Names))
	for i, name := range a.Names {
		names[i] = rewrite(name)
	}
	a.Names = names
	return a
}
