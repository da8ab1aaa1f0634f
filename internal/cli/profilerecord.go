package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/record"
)

// profileRecordCommand is the recorder, which headroom starts on the machine under test. It is hidden: what it is asked
// is no interface for people.
func (p *program) profileRecordCommand() *cobra.Command {
	var clean, guard string
	c := &cobra.Command{
		Use:    "record",
		Short:  "Record what the kernel does for a load: a request on standard input, a recording on standard output",
		Hidden: true,
		Args:   argumentCount(0, 0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case guard != "":
				return record.Guard(p.App.Stdin, guard)
			case clean != "":
				return record.RemoveInstances(clean)
			}
			var r profile.Request
			if err := json.NewDecoder(p.App.Stdin).Decode(&r); err != nil {
				return &lab.Error{What: "can't read the request to record on standard input", Err: err}
			}
			return record.Run(c.Context(), r, p.App.Stdout, p.App.Stderr)
		},
	}
	c.Flags().StringVar(&clean, "clean", "", "remove the tracer's instances whose names begin so, and end")
	c.Flags().StringVar(&guard, "guard", "", "remove an instance of the tracer once standard input ends")
	return c
}
