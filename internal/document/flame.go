package document

// Flame is a flame graph: stacks of functions, each as wide as what it costs with all that it called. Texts leave it
// out, and so does a file for other programs, for which such stacks have separate formats.
type Flame struct {
	// Title names what is drawn, and Note adds a little.
	Title, Note string
	// Layers determine the colours of frames, by index; a frame without a layer has another number.
	Layers []FlameLayer
	// Difference is set if frames are coloured by gain or loss instead.
	Difference bool
	// Total is the total cost as people read it: "18.4 µs of CPU time per I/O".
	Total string
	// Frames are the frames at the bottom of all stacks.
	Frames []Frame
	// Reading explains how to read it.
	Reading string
}

// FlameLayer is a common property of some functions.
type FlameLayer struct{ ID, Title string }

// Frame is a function within one stack of callers.
type Frame struct {
	Name string
	// Text has its cost, and its layer.
	Text  string
	Layer int
	// Change is the gain, up to 1, or the loss, down to -1.
	Change float64
	// Width is the cost of the frame, in the unit of all frames.
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
