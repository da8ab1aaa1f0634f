package cli

import (
	"github.com/spf13/pflag"

	"headroom/internal/experiment"
)

func eventFlagsOf(o *experiment.EventOptions, f *pflag.FlagSet, where string) {
	f.StringArrayVar(&o.Events, "event", nil, "what to do while each load goes on: 'TIME: COMMAND', 'TIME: EVENT' "+
		"that is known by its name, 'TIME: FACTOR=LEVEL' or 'TIME: undo'; may be repeated")
	f.StringArrayVar(&o.Undo, "undo", nil, "the command that undoes an event; once for each that is a command")
	f.BoolVar(&o.NoUndo, "no-undo", false, "events without --undo end by themselves")
	f.StringArrayVar(&o.On, "event-on", nil, where)
	f.StringVar(&o.Length, "event-for", "20s",
		"how long after it an event is undone; at the end of the load at the latest")
	f.StringVar(&o.ExpectedShare, "event-left", "",
		"what an event should leave of the rate, like 50%; it is shown beside what was left")
}
