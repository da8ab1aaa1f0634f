package lab

// Event is a disturbance that is caused on purpose during a load: a link is cut, a server restarts. Either a command is
// run, or a factor is set.
type Event struct {
	// At is when the event happens, in seconds after the measured part of the load begins. For is how many seconds
	// later it is undone, at the end of the load at the latest; 0 if the event ends by itself.
	At  float64 `json:"at"`
	For float64 `json:"for,omitempty"`
	// Target is the name of the target on which the event happens.
	Target string `json:"target"`
	// Named are the words of a built-in event, which is known by its name. Command and Undo are the commands that it
	// was resolved to on the target.
	Named   []string `json:"named,omitempty"`
	Command []string `json:"command,omitempty"`
	Undo    []string `json:"undo,omitempty"`
	Factor  string   `json:"factor,omitempty"`
	Level   string   `json:"level,omitempty"`
	// ExpectedShare is the share of the rate that should remain during the event; 0 if not stated.
	ExpectedShare float64 `json:"left,omitempty"`
}

// Text returns the event as one would type it.
func (e Event) Text() string {
	switch {
	case e.Factor != "":
		return e.Factor + "=" + e.Level
	case len(e.Named) > 0:
		return ShellQuote(e.Named)
	}
	return ShellQuote(e.Command)
}

// HasUndo reports whether the event is undone; other events end by themselves.
func (e Event) HasUndo() bool { return e.Factor != "" || len(e.Undo) > 0 || e.For > 0 }

// EventResult is the outcome of the events of a load, with the load's rate in fine steps.
type EventResult struct {
	// Rate of all directions together, in the metric's unit.
	Rate Series `json:"rate"`
	// Each has an entry for each event of the run, in their order.
	Each []Occurrence `json:"each"`
}

// Occurrence is when an event was carried out and undone, in seconds from the start of the rate. Took and UndoTook are
// how long its commands ran.
type Occurrence struct {
	At       float64 `json:"at"`
	Took     float64 `json:"took"`
	Undone   float64 `json:"undone,omitempty"`
	UndoTook float64 `json:"undo_took,omitempty"`
	// Uncertainty is by how much these times may be wrong.
	Uncertainty float64 `json:"unsure"`
	// Failed is the reason, in one line, why the event was not carried out; the event then did not happen, or not as
	// intended.
	Failed string `json:"failed,omitempty"`
}
