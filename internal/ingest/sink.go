package ingest

import "github.com/headroom/headroom/internal/lab"

// Sink takes what an import reads, while it reads. An error from it ends the import.
//
// When Import returns an error, nothing of what the sink was given may be kept: an import is all or nothing.
type Sink interface {
	// Raw is given every file that results were read from, once, before the repetitions that name it in
	// Repetition.Raw. Data is the file's bytes, unpacked where it was compressed; they are valid only during the call.
	Raw(name string, data []byte) error
	// Repetition is given the repetitions in the order of the files. Their cells are in the run that Import returns.
	Repetition(rep lab.Repetition) error
}

// discardSink is the sink once a file has proved bad: the others are still checked, so that all bad ones can be named.
type discardSink struct{}

func (discardSink) Raw(string, []byte) error        { return nil }
func (discardSink) Repetition(lab.Repetition) error { return nil }

// countingSink counts the values of a run and keeps nothing.
type countingSink struct {
	discardSink

	values int
}

func (s *countingSink) Repetition(r lab.Repetition) error {
	s.values += len(r.Values)
	return nil
}
