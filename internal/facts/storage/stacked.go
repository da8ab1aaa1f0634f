package storage

import (
	"context"
	"slices"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Stacked reports whether a place is on top of another. known is false if the kernel does not show what is underneath,
// as for DRBD, network and in-memory file systems.
func Stacked(ctx context.Context, t host.Target, lower, upper lab.Place) (on, known bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, false, err
	}
	s := NewStack(collect.Reader{FS: t.FS()})
	below, above := s.Tops(lower), s.Tops(upper)
	if len(below) == 0 || len(above) == 0 {
		return false, false, nil
	}
	var names []string
	for _, l := range s.Layers(above...) {
		names = append(names, l.Name)
	}
	for _, name := range below {
		if !slices.Contains(names, name) {
			return false, true, nil
		}
	}
	// Two devices of one name are one device; two directories can lie on each other (a mount of an image), or beside
	// each other.
	return lower.Kind != upper.Kind || lower.Kind == lab.Directory || !slices.Equal(below, above), true, nil
}
