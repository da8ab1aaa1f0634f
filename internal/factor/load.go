package factor

import (
	"errors"
	"strconv"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/prose"
)

var (
	variable  = prose.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
	parameter = prose.Pattern(`^[A-Za-z][A-Za-z0-9_.-]*$`)
)

// envScheme is env:, a variable in the environment of the load.
func envScheme() scheme.Scheme {
	return scheme.Scheme{Name: "env", Title: "a variable in the environment of the load", Class: scheme.OfLoad,
		Needs:    "nothing",
		Syntax:   "env:NAME",
		Examples: []string{"env:MALLOC_ARENA_MAX=1,8"}, Levels: "any text", Verified: "it is given to the load",
		Check: checkEnv}
}

func checkEnv(name, _ string) error {
	if !variable().MatchString(name) {
		return errors.New("env: takes the name of an environment variable, not " + strconv.Quote(name))
	}
	return nil
}

// hash of a commit, abbreviated or whole.
var hash = prose.Pattern(`^[0-9a-f]{7,64}$`)

// commitScheme is commit:, the commit that the program under test is built of.
func commitScheme() scheme.Scheme {
	return scheme.Scheme{Name: "commit", Title: "the commit that the program under test is built of",
		Class: scheme.OfLoad, Needs: "build",
		Syntax:   "commit:",
		Examples: []string{"commit:=3f2a9c01b7de,77b1d0c2e9aa"},
		Levels:   "hashes; only headroom bisect commits varies it",
		Verified: "the folder that it was built in", Check: checkCommit}
}

func checkCommit(name, level string) error {
	if name != "" || level != "" && !hash().MatchString(level) {
		return errors.New("commit: takes no name, and hashes of commits, not " + strconv.Quote(name+level))
	}
	return nil
}

// jobScheme is job:, a parameter of the load.
func jobScheme() scheme.Scheme {
	return scheme.Scheme{Name: "job", Title: "a parameter of the load", Class: scheme.OfLoad, Needs: "nothing",
		Syntax:   "job:PARAMETER",
		Examples: []string{"job:iodepth=1,8,32", "job:numjobs=1,4"}, Levels: "what the load generator takes",
		Verified: "the command line of the load", Check: checkJob}
}

func checkJob(name, _ string) error {
	if !parameter().MatchString(name) {
		return errors.New("job: takes the name of a parameter of the load, not " + strconv.Quote(name))
	}
	return nil
}
