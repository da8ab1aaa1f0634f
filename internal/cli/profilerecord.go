package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/record"
)

// newProfileRecordCommand returns the recorder, which headroom starts on the machine under test.
func newProfileRecordCommand(a *app.App) *cobra.Command {
	var clean, guard string
	c := &cobra.Command{
		Use:  "record",
		Args: argumentCount(0, 0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case guard != "":
				return record.Guard(a.Stdin, guard)
			case clean != "":
				return record.RemoveInstances(clean)
			}
			var r profile.Request
			if err := json.NewDecoder(a.Stdin).Decode(&r); err != nil {
				return &lab.Error{What: "can't read the request to record on standard input", Err: err}
			}
			return record.Run(c.Context(), r, a.Stdout, a.Stderr)
		},
	}
	f := flagsOf(a, c)
	f.StringVar(&clean, "clean", "", "remove the tracer's instances whose names begin so, and end")
	f.StringVar(&guard, "guard", "", "remove an instance of the tracer once standard input ends")
	return c
}
