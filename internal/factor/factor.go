// Package factor names the settings that an experiment can vary, and finds them on a target.
//
// A factor is named SCHEME:NAME ("sysctl:vm.dirty_ratio", "queue:scheduler"). Three classes differ in when a level
// takes effect: factors of the load change what is run (job:, env:), factors of the boot take effect when the machine
// is started again (cmdline:, kernel:, guest:), and all others are live: they are read, set and put back while the
// machine runs, by package journal, which has the old value on disk before a new one is set.
//
// A live factor is bound to a target as a [scheme.Setting]: the spots (files, mount options, parameters of an adapter)
// that hold its level. A spot is plain data, so that a journal can hold it and another process can put it back.
package factor

import (
	"context"
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/lab"
)

// Find returns the scheme of a factor and the rest of its name, without the end of a network. For "queue@md0:scheduler"
// the scheme is queue@md0.
func Find(factorName string) (scheme.Scheme, string, error) {
	_, bare := SplitRole(factorName)
	word, name, ok := strings.Cut(bare, ":")
	word, device, named := strings.Cut(word, "@")
	for _, s := range Schemes() {
		if !ok || s.Name != word || named && s.OfDevice == nil {
			continue
		}
		if named {
			var err error
			if s, err = s.OfDevice(device); err != nil {
				return scheme.Scheme{}, "", err
			}
		}
		return s, name, nil
	}
	return scheme.Scheme{}, "", unknown(factorName, "")
}

// WithoutDevice removes the device from a factor's name: queue@md0:scheduler becomes queue:scheduler.
func WithoutDevice(factorName string) string {
	role, bare := SplitRole(factorName)
	word, name, _ := strings.Cut(bare, ":")
	plain, _, named := strings.Cut(word, "@")
	if !named {
		return factorName
	}
	if role != "" {
		role += ":"
	}
	return role + plain + ":" + name
}

// Check refuses a factor, or a level of it, that can't be right on any target. An empty level is not looked at.
func Check(factorName, level string) error {
	s, name, err := Find(factorName)
	if err != nil {
		return err
	}
	return s.Refuse(name, level)
}

// Bind finds a live factor on a target.
func Bind(ctx context.Context, w scheme.Scope, factorName string) (scheme.Setting, error) {
	s, name, err := Find(factorName)
	if err != nil {
		return scheme.Setting{}, err
	}
	if s.Bind == nil {
		return scheme.Setting{}, &lab.Error{Kind: lab.Usage,
			What: fmt.Sprintf("%s is not set while the machine runs: it needs %s", factorName, s.Needs)}
	}
	if err := s.Refuse(name, ""); err != nil {
		return scheme.Setting{}, err
	}
	setting, err := s.Bind(ctx, w, name)
	if err != nil {
		return scheme.Setting{}, err
	}
	setting.Factor, setting.Target = factorName, w.Target
	return setting, nil
}

// Equal reports whether two texts are the same level of a factor of this scheme: the kernel writes tabs for spaces, 1
// for Y and decimal for hexadecimal numbers.
func Equal(scheme, a, b string) bool {
	if s, _, err := Find(scheme + ":"); err == nil && s.Canonical != nil {
		a, b = s.Canonical(a), s.Canonical(b)
	}
	return spot.Same(a, b)
}
