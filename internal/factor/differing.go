package factor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/lab"
)

// DifferingArguments are the kernel arguments that differ between two command lines, each as a choice of two levels,
// the first line's and the second's: cmdline:slub_debug=absent,FZPU.
//
// Arguments that say where the root file system, the console or the boot image is are left out: a machine does not come
// up without them. An argument that is repeated in a line (console=) has no single level: it is left out where both
// lines agree, else refused.
func DifferingArguments(good, bad string) ([]string, error) {
	fast, err := arguments(good)
	if err != nil {
		return nil, err
	}
	slow, err := arguments(bad)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(union(fast, slow))) {
		if slices.Equal(fast[name], slow[name]) || slices.Contains(essentialArguments(), name) {
			continue
		}
		if len(fast[name]) > 1 || len(slow[name]) > 1 {
			return nil, &lab.Error{Kind: lab.Usage,
				What:  fmt.Sprintf("the kernel argument %s stands several times in a command line", name),
				Hints: []string{"leave it out of both"}}
		}
		list = append(list, "cmdline:"+name+"="+levels(levelOf(fast[name]), levelOf(slow[name])))
	}
	if len(list) == 0 {
		return nil, &lab.Error{Kind: lab.Usage, What: "the two command lines do not differ",
			Hints: []string{"--bad names the slow state's arguments, --good the fast one's"}}
	}
	return list, settable(list)
}

// essentialArguments are arguments without which a machine may not come up.
func essentialArguments() []string {
	return []string{"BOOT_IMAGE", "initrd", "root", "rootflags", "rootfstype", "ro", "rw", "console", "resume",
		"cryptdevice", "init", "rdinit"}
}

// arguments of a command line by their names: the values, in their order.
//
//	BOOT_IMAGE=/boot/vmlinuz-6.1.0-28-amd64 root=UUID=0a1b ro quiet nvme.poll_queues=4
func arguments(line string) (map[string][]string, error) {
	if strings.ContainsAny(line, "\"") {
		return nil, &lab.Error{Kind: lab.Usage, What: "a command line with quotes can't be taken apart",
			Hints: []string{"leave out arguments whose value holds a space"}}
	}
	all := map[string][]string{}
	for _, field := range strings.Fields(line) {
		if field == "--" {
			break // what follows is init's
		}
		name, value, _ := strings.Cut(field, "=")
		if err := Check("cmdline:"+name, value); err != nil {
			return nil, err
		}
		all[name] = append(all[name], value)
	}
	return all, nil
}

func levelOf(values []string) string {
	if len(values) == 0 {
		return spot.Absent
	}
	return values[0]
}

// DifferingSysctls are the sysctls that differ between two states, as choices of two levels. The texts are what
// "sysctl -a" prints, or files of /etc/sysctl.d:
//
//	vm.dirty_ratio = 20
//	net.ipv4.tcp_rmem = 4096	131072	6291456
//	# comments, and lines that begin with ; or -, are left out
//
// A sysctl of one state only has no level in the other, and is left out.
func DifferingSysctls(good, bad string) ([]string, error) {
	fast, slow := sysctls(good), sysctls(bad)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(fast)) {
		other, both := slow[name]
		if !both || Equal("sysctl", fast[name], other) {
			continue
		}
		list = append(list, "sysctl:"+name+"="+levels(fast[name], other))
	}
	if len(list) == 0 {
		return nil, &lab.Error{Kind: lab.Usage, What: "no sysctl that stands in both files differs",
			Hints: []string{"sysctl -a prints them all"}}
	}
	return list, settable(list)
}

// settable refuses what can't be set on any target.
func settable(choices []string) error {
	for _, text := range choices {
		if _, err := Parse(text); err != nil {
			return err
		}
	}
	return nil
}

func sysctls(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") || strings.HasPrefix(line, "-") {
			continue
		}
		all[strings.TrimSpace(name)] = strings.Join(strings.Fields(value), " ")
	}
	return all
}

func union[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// Series is a choice of levels as Parse reads it, of a factor with its scheme.
func Series(factorName string, all []string) string {
	var fields []string
	for _, level := range all {
		fields = append(fields, field(level))
	}
	return factorName + "=" + strings.Join(fields, ",")
}

// levels are two fields of a line of CSV.
func levels(a, b string) string { return field(a) + "," + field(b) }

func field(level string) string {
	if strings.ContainsAny(level, `",`) {
		return `"` + strings.ReplaceAll(level, `"`, `""`) + `"`
	}
	return level
}
