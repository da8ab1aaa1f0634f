package factor

import (
	"errors"
	"regexp"
)

var (
	variable  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	parameter = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)
)

func checkEnv(name, _ string) error {
	if !variable.MatchString(name) {
		return errors.New("env: takes the name of an environment variable, not " + quoted(name))
	}
	return nil
}

// hash of a commit, abbreviated or whole.
var hash = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

func checkCommit(name, level string) error {
	if name != "" || level != "" && !hash.MatchString(level) {
		return errors.New("commit: takes no name, and hashes of commits, not " + quoted(name+level))
	}
	return nil
}

func checkJob(name, _ string) error {
	if !parameter.MatchString(name) {
		return errors.New("job: takes the name of a parameter of the load, not " + quoted(name))
	}
	return nil
}
