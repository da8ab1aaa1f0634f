package scheme

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// ErrReadOnly is why a setting can be read only.
var ErrReadOnly = errors.New("its file can't be written")

// Settable says why a level can't be set, as far as that is known without setting it; nil where nothing speaks
// against it. Root may write any file by its permissions, so that those are asked that the kernel gave it.
func (s Setting) Settable(level string) error {
	if s.Possible != nil && !slices.Contains(s.Possible, level) {
		return errors.New(level + " is none of " + strings.Join(s.Possible, ", "))
	}
	for _, place := range s.Spots {
		if place.Kind != spot.InFile {
			continue
		}
		if err := Writable(s.Target, place.Path); err != nil {
			return err
		}
	}
	return nil
}

// Writable says why a file can't be written; nil where no reason is known.
func Writable(t host.Target, path string) error {
	info, err := fs.Stat(t.FS(), strings.TrimPrefix(path, "/"))
	if err == nil && info.Mode()&0o222 == 0 {
		err = ErrReadOnly
	}
	return err
}

// Refusal says why a factor is not changed.
func Refusal(factorName, reason string) error {
	return &lab.Error{Kind: lab.Refused, What: factorName + " is refused: " + reason,
		Hints: []string{"set it by hand, measure a run before and one after it, and compare them: headroom compare"}}
}
