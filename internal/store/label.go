package store

import (
	"strings"

	"headroom/internal/lab"
)

// lastRun is the name of the run that was added last.
const lastRun = "last"

// CheckLabel refuses labels that would be mistaken for the name of another run: "last", and what could be an id as
// headroom shows it, in capitals and with four to ten characters. The same goes for an arm's name behind it.
func CheckLabel(label string) error {
	name := label
	if run, _ := lab.CutArm(label); run != "" {
		name = run
	}
	e := &lab.Error{Kind: lab.Usage}
	switch {
	case strings.EqualFold(name, lastRun):
		e.What, e.Hints = "the label "+lab.ShellQuote([]string{label})+" is the name of the last run",
			[]string{"choose another one: 'last before tuning'"}
	case len(name) >= shortID && len(name) <= idLength && hasIDLetters(name):
		e.What, e.Hints = "the label "+lab.ShellQuote([]string{label})+" could be the id of a run",
			[]string{"add a word, or write it in lower case"}
	default:
		return nil
	}
	return e
}
