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

func checkJob(name, _ string) error {
	if !parameter.MatchString(name) {
		return errors.New("job: takes the name of a parameter of the load, not " + quoted(name))
	}
	return nil
}
