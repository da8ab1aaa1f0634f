package cli

import (
	"github.com/spf13/pflag"

	"github.com/headroom/headroom/internal/experiment"
)

func eventFlagsOf(o *experiment.EventOptions, f *pflag.FlagSet, where string) {
	f.StringArrayVar(&o.Events, "event", nil, "an event during each load: 'TIME: COMMAND', 'TIME: EVENT' (a built-in "+
		"event), 'TIME: FACTOR=LEVEL' or 'TIME: undo'; may be repeated")
	f.StringArrayVar(&o.Undo, "undo", nil, "the command that undoes an event; once for each event that is a command")
	f.BoolVar(&o.NoUndo, "no-undo", false, "allow events without --undo: they end by themselves")
	f.StringArrayVar(&o.On, "event-on", nil, where)
	f.StringVar(&o.Length, "event-for", "20s",
		"undo an event after this time; at the latest when the load ends")
	f.StringVar(&o.ExpectedShare, "event-left", "",
		"expected rate during an event, like 50%; shown next to the measured one")
}
