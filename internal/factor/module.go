package factor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

var moduleParameter = prose.Pattern(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_.-]+$`)

// moduleScheme is module:, a parameter of a loaded module.
func moduleScheme() scheme.Scheme {
	return scheme.Scheme{Name: "module", Title: "a parameter of a loaded module", Class: scheme.Live, Needs: "nothing",
		Syntax:   "module:MODULE.PARAMETER",
		Examples: []string{"module:nvme_core.io_timeout=30,60"},
		Levels:   "what the module takes, where it can be written while it is loaded",
		Verified: "/sys/module/MODULE/parameters/PARAMETER", Check: checkModule, Bind: bindModule,
		Holds: func(_ context.Context, _ host.Target, name string) scheme.Holds {
			return scheme.InFiles(modulePath(name))
		}}
}

func checkModule(name, _ string) error {
	if !moduleParameter().MatchString(name) {
		return errors.New("module: takes MODULE.PARAMETER, not " + strconv.Quote(name))
	}
	return nil
}

// modulePath is the file of a parameter: the kernel writes dashes of a module's name as underscores.
func modulePath(name string) string {
	module, param, _ := strings.Cut(name, ".")
	return "/sys/module/" + strings.ReplaceAll(module, "-", "_") + "/parameters/" + param
}

func bindModule(ctx context.Context, w scheme.Scope, name string) (scheme.Setting, error) {
	file := modulePath(name)
	info, err := fs.Stat(w.Target.FS(), strings.TrimPrefix(file, "/"))
	module, param, _ := strings.Cut(name, ".")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return scheme.Setting{}, &lab.Error{What: "there is no " + file, Target: host.RemoteName(w.Target),
			Hints: []string{"the module is not loaded, has no such parameter, or does not show it", "modinfo -p " +
				module + " lists the parameters"}}
	case err != nil:
		return scheme.Setting{}, err
	case info.Mode()&0o222 == 0:
		return scheme.Setting{}, &lab.Error{Kind: lab.Refused, Target: host.RemoteName(w.Target),
			What: fmt.Sprintf("module:%s needs a reload: the parameter is read when %s is loaded and can't be "+
				"written afterwards", name, module),
			Hints: []string{"as a factor of the boot it can be varied: cmdline:" + module + "." + param +
				" (headroom unloads no modules: what uses one, or was given to it when it was loaded, would not come " +
				"back)"}}
	}
	return scheme.OneFile(file).Readable(ctx, w.Target)
}
