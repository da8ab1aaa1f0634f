package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
)

// refusePlaceFirst refuses a command line whose first word is a place where the suite should be, with the line that was
// meant: headroom run /srv, headroom run /srv quick. Elsewhere says that the place is on another machine, where nothing
// is looked up; typed is the whole command line.
func refusePlaceFirst(typed, args []string, elsewhere bool) error {
	if len(args) == 0 || experiment.IsSuite(args[0]) {
		return nil
	}
	place, kind := args[0], ""
	info, err := os.Stat(place)
	switch {
	case err == nil && info.IsDir():
		kind = "a directory"
	case err == nil && info.Mode()&fs.ModeDevice != 0:
		kind = "a device"
	case err != nil && elsewhere && filepath.IsAbs(place):
		kind = "a place"
	default:
		return nil
	}
	suite := "quick"
	words := slices.Clone(typed[1:])
	if i := slices.IndexFunc(args[1:], experiment.IsSuite); i >= 0 {
		suite = args[1+i]
		at := slices.Index(words, suite)
		words = slices.Delete(words, at, at+1)
	}
	words = slices.Insert(words, slices.Index(words, place), suite)
	return app.Usage(place+" is "+kind+", and the suite comes first",
		lab.ShellQuote(append([]string{"headroom"}, words...)),
		"headroom suites lists the suites")
}
