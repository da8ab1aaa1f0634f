package ingest

import "github.com/headroom/headroom/internal/lab"

// Sink receives the results of an import while it reads. An error from it ends the import.
//
// If Import returns an error, the sink must discard everything: an import is all or nothing.
type Sink interface {
	// Raw is called once for every file with results, before the repetitions that name it in Repetition.Raw. data is
	// the file's bytes, unpacked if it was compressed; they are valid only during the call.
	Raw(name string, data []byte) error
	// Repetition is called for the repetitions in the order of the files. Their cells are in the run that Import
	// returns.
	Repetition(rep lab.Repetition) error
}

// discardSink replaces the sink after a bad file: the other files are still checked, so that all bad ones can be named.
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
