package lab

// Event is what is done on purpose while a load goes on: a link is cut, a server restarts. Either a command is carried
// out, or a factor is set.
type Event struct {
	// At is how many seconds after the start of what counts of the load. For is how many seconds later it is undone, at
	// the end of the load at the latest; 0 where it ends by itself.
	At  float64 `json:"at"`
	For float64 `json:"for,omitempty"`
	// Target that it is done on, by its name.
	Target string `json:"target"`
	// Named are the words of an event that is known by its name; Command and Undo are what it came to on the target.
	Named   []string `json:"named,omitempty"`
	Command []string `json:"command,omitempty"`
	Undo    []string `json:"undo,omitempty"`
	Factor  string   `json:"factor,omitempty"`
	Level   string   `json:"level,omitempty"`
	// ExpectedShare is the share of the rate that it should leave; 0 where nobody said.
	ExpectedShare float64 `json:"left,omitempty"`
}

// Text is what is done, as one would type it.
func (e Event) Text() string {
	switch {
	case e.Factor != "":
		return e.Factor + "=" + e.Level
	case len(e.Named) > 0:
		return ShellQuote(e.Named)
	}
	return ShellQuote(e.Command)
}

// HasUndo says whether it is undone, and does not end by itself.
func (e Event) HasUndo() bool { return e.Factor != "" || len(e.Undo) > 0 || e.For > 0 }

// EventResult are what became of the events of a load, with its rate in fine steps.
type EventResult struct {
	// Rate of all directions together, in the metric's unit.
	Rate Series `json:"rate"`
	// Each has an entry for each event of the run, in their order.
	Each []Occurrence `json:"each"`
}

// Occurrence is when an event was carried out, in seconds from the start of the rate, and for how long: Took and
// UndoTook are how long its commands ran.
type Occurrence struct {
	At       float64 `json:"at"`
	Took     float64 `json:"took"`
	Undone   float64 `json:"undone,omitempty"`
	UndoTook float64 `json:"undo_took,omitempty"`
	// Uncertainty is by how much the moments may be wrong.
	Uncertainty float64 `json:"unsure"`
	// Failed is why it was not carried out, in a line; it did not come then, or not as it was meant.
	Failed string `json:"failed,omitempty"`
}
