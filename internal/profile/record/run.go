package record

import (
	"context"
	"io"

	"headroom/internal/lab"
	"headroom/internal/profile"
)

// Run records what is asked for while a load runs. It writes the recording to stdout, and profile.Ready and
// profile.Done to stderr, each on a line of its own.
func Run(context.Context, profile.Request, io.Writer, io.Writer) error {
	return &lab.Error{What: "this headroom can't record yet"}
}
