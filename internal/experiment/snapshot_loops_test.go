package experiment

import (
	"testing"

	"headroom/internal/app"
	"headroom/internal/facts"
	"headroom/internal/lab"
)

// A loop device that was made again is another one; one whose setting changed is the same.
func TestOtherLoops(t *testing.T) {
	change := func(key, about string) facts.Change {
		return facts.Change{Before: lab.Fact{Key: key, About: about, Value: "a"},
			After: lab.Fact{Key: key, About: about, Value: "b"}}
	}
	got := app.OtherLoops([]facts.Change{change("volume.name", "loop0"), change("volume.queue.scheduler", "loop1"),
		change("volume.name", "dm-0")})
	if len(got) != 1 || !got["loop0"] {
		t.Errorf("%v", got)
	}
}
