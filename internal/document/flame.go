package document

// Flame is a flame graph: stacks of functions, each as wide as what it costs with all that it called. Texts leave it
// out, and so does a file for other programs, for which such stacks have formats of their own.
type Flame struct {
	// Title says what is drawn, and Note a little more.
	Title, Note string
	// Layers that frames have the colours of, by their places in it; a frame of none has another number.
	Layers []FlameLayer
	// Difference says that frames are coloured by what was gained or lost instead.
	Difference bool
	// Total is the cost of all as people read it: "18.4 µs of CPU time per I/O".
	Total string
	// Frames on which all others stand.
	Frames []Frame
	// Reading says how to read it.
	Reading string
}

// FlameLayer is what some functions have in common.
type FlameLayer struct{ ID, Title string }

// Frame is a function where it was called from.
type Frame struct {
	Name string
	// Text says what it costs, and in which layer it is.
	Text  string
	Layer int
	// Change is what was gained, up to 1, or lost, down to -1.
	Change float64
	// Width is what the frame costs, in the unit of all frames.
	Width    float64
	Children []Frame
}

func (Flame) block() {}

func (f Flame) rewritten(rewrite func(string) string) Flame {
	f.Title, f.Note, f.Total, f.Reading = rewrite(f.Title), rewrite(f.Note), rewrite(f.Total), rewrite(f.Reading)
	f.Frames = framesRewritten(f.Frames, rewrite)
	return f
}

func framesRewritten(of []Frame, rewrite func(string) string) []Frame {
	out := make([]Frame, len(of))
	for i, frame := range of {
		frame.Name, frame.Text = rewrite(frame.Name), rewrite(frame.Text)
		frame.Children = framesRewritten(frame.Children, rewrite)
		out[i] = frame
	}
	return out
}
