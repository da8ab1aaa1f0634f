package vary

import (
	"errors"
	"fmt"
	"testing"

	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Only what has to do with the state that was asked for has a search go on without it.
func TestWhatASearchLeavesOut(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("entering: %w",
			&factor.NoEffect{Err: &lab.Error{What: "the kernel was started with mds=off, which has no effect"}}),
			"the kernel was started with mds=off, which has no effect"},
		{&host.NotStarted{Err: errors.New("its kernel panicked")}, "its kernel panicked"},
		{errors.New("connection lost"), ""},
		{nil, ""},
	} {
		if got := unmeasurable(lab.Repetition{}, c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
