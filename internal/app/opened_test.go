package app

import (
	"io"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/host"
)

// closing is a target that notes when it is closed.
type closing struct {
	host.Target

	name string
	note func(string)
}

func (c *closing) Close() error {
	c.note(c.name)
	return nil
}

func TestOpenedAreClosedInReverse(t *testing.T) {
	var closed []string
	note := func(name string) { closed = append(closed, name) }
	var o Opened
	for _, name := range []string{"host", "guest", "client", "gone", "pod"} {
		o.Add(name, &closing{name: name, note: note})
	}
	o.Add("same", o.Get("host"))
	o.Remove("gone")
	p := App{Environment: Environment{Stderr: io.Discard}}
	p.CloseOpened(&o)
	if want := []string{"pod", "client", "guest", "host"}; !slices.Equal(closed, want) {
		t.Errorf("%v, want %v", closed, want)
	}
	if o.Get("gone") != nil || !slices.Equal(o.Names(), []string{"client", "guest", "host", "pod", "same"}) {
		t.Errorf("%v", o.Names())
	}
}
