package suite

import "github.com/headroom/headroom/internal/yamlfile"

// reporter collects the problems of one file.
type reporter struct{ yamlfile.Reader }

func newReporter(file string) *reporter { return &reporter{yamlfile.Reader{Name: file}} }
