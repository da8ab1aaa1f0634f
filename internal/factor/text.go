package factor

import (
	"errors"

	"headroom/internal/lab"
)

// detailsOf are the hints of an error that is told again in another.
func detailsOf(err error) []string {
	if e, ok := errors.AsType[*lab.Error](err); ok {
		return e.Hints
	}
	return nil
}
