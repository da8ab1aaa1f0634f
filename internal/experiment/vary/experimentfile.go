package vary

import (
	"fmt"
	"path/filepath"
	"strings"

	"headroom/internal/app"
	"headroom/internal/lab"
	"headroom/internal/suite"
)

// read folds an experiment's file into the flags, which come first, and returns the suite and the place.
func (o *Options) read(kind string, args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	if ext := filepath.Ext(args[0]); ext != ".yaml" && ext != ".yml" {
		return args, nil
	}
	data, err := app.ReadInput(args[0])
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: "can't read " + args[0], Err: err}
	}
	if !suite.IsExperiment(data) {
		return args, nil
	}
	e, err := suite.DecodeExperiment(args[0], data, CheckFactor)
	if err != nil {
		return nil, err
	}
	if e.Kind != kind {
		return nil, app.Usage(fmt.Sprintf("%s is an experiment for %s", args[0], e.Kind),
			"headroom "+e.Kind+" "+args[0])
	}
	rest := args[1:]
	o.mergeFile(e)
	if e.Suite == "" && len(rest) == 0 {
		return nil, app.Usage(args[0]+" names no suite", "add suite: quick to it")
	}
	if e.Suite != "" {
		rest = append([]string{suitePath(args[0], e.Suite)}, rest...)
	}
	if len(rest) < 2 && e.Place != "" {
		rest = append(rest, e.Place)
	}
	return rest, nil
}

// suitePath is a suite's file as an experiment's file names it: relative to itself.
func suitePath(file, name string) string {
	if filepath.Ext(name) == "" && !strings.ContainsRune(name, filepath.Separator) || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(file), name)
}
