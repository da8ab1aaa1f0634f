package factor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/yamlfile"
)

// unknown is the error of a name without a known scheme. Behind is what was typed after the name: "=5,10".
func unknown(factorName, behind string) error {
	factorName = strings.TrimSuffix(factorName, ":")
	var words []string
	for _, s := range Schemes() {
		words = append(words, s.Name+":")
	}
	e := &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%q is no factor", factorName),
		Hints: []string{"a factor begins with one of " + strings.Join(words, " "),
			"headroom factors lists them with examples"}}
	if name := guessFactor(factorName); name != "" {
		e.Hints = slices.Insert(e.Hints, 0, "did you mean "+lab.ShellQuote([]string{name + behind})+"?")
	}
	return e
}

// guessFactor is the factor that a name without a known scheme most likely means: another tool's name for a setting, or
// a misspelt scheme; empty if there is none.
func guessFactor(typed string) string {
	role, bare := SplitRole(typed)
	if role != "" {
		role += ":"
	}
	if word, name, ok := strings.Cut(bare, ":"); ok {
		var schemes []string
		for _, s := range Schemes() {
			schemes = append(schemes, s.Name)
		}
		if near := yamlfile.Nearest(word, schemes); near != "" {
			return role + near + ":" + name
		}
		return ""
	}
	if name, ok := strings.CutPrefix(bare, "/proc/sys/"); ok {
		return role + "sysctl:" + strings.ReplaceAll(name, "/", ".")
	}
	if strings.HasPrefix(bare, "/sys/") {
		return role + "sysfs:" + bare
	}
	trees := []string{"dev", "fs", "kernel", "net", "sunrpc", "user", "vm"} // the folders of /proc/sys
	if tree, _, ok := strings.Cut(bare, "."); ok && slices.Contains(trees, tree) {
		return role + "sysctl:" + bare
	}
	for scheme, names := range map[string][]string{
		"queue": {"scheduler", "nr_requests", "read_ahead_kb", "nomerges", "rq_affinity", "wbt_lat_usec",
			"max_sectors_kb"},
		"job":     {"bs", "iodepth", "ioengine", "numjobs", "rate_iops", "runtime", "rw", "size"},
		"cpu":     {"governor", "smt", "boost", "epp"},
		"cmdline": {"mitigations"},
	} {
		if slices.Contains(names, bare) {
			return role + scheme + ":" + bare
		}
	}
	return ""
}
