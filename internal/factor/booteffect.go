package factor

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// A kernel that was started with an argument need not obey it: the name may be misspelled, the module is another one,
// the processor does not have the flaw, something else overrides it. So its effect is looked up in what the kernel
// exposes.

// Effect is what the running kernel shows of one of its arguments.
type Effect struct {
	// Argument is the argument as written on the command line.
	Argument string
	// Verified: the kernel shows what the argument asks for. Missed: it shows something else. Neither is set if nothing
	// shows it.
	Verified, Missed bool
	// Why is what shows it, or why nothing does: "/sys/module/nvme/parameters/io_queue_depth shows 1024".
	Why string
}

// verdict of one file on one argument.
type verdict int

const (
	silent verdict = iota // no evidence about the argument
	holds
	fails
)

// kernelLog, in place of a file's path, means the log since the machine was started, as far as it is still available.
const kernelLog = "the kernel's log"

// UnverifiedLevels returns, by factor, why nothing shows the effect of a level of a cmdline: factor that a machine was
// just started with. It returns an error for a requested level that, as the kernel shows, is not in effect. An absent
// argument counts as verified if /proc/cmdline does not have it.
func UnverifiedLevels(ctx context.Context, t host.Target, levels map[string]string) (map[string]string, error) {
	var names []string
	for factorName, level := range levels {
		if name, ok := strings.CutPrefix(factorName, "cmdline:"); ok && level != spot.Absent {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	unverified := map[string]string{}
	effects, err := Effects(ctx, t, names...)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(effects)) { // sorted for a reproducible error
		e, factorName := effects[name], "cmdline:"+name
		if e.Missed && levels[factorName] != scheme.Found {
			return nil, e.missed(t)
		}
		if !e.Verified {
			unverified[factorName] = e.Why
		}
	}
	return unverified, nil
}

// NoEffect is the error of a requested level that has no effect with the other settings of this boot. With different
// settings it may have one.
type NoEffect struct{ Err error }

func (e *NoEffect) Error() string { return e.Err.Error() }

func (e *NoEffect) Unwrap() error { return e.Err }

// missed is the error of an argument without effect.
func (e Effect) missed(t host.Target) error {
	return &NoEffect{&lab.Error{What: fmt.Sprintf("the kernel was started with %s, which has no effect: %s", e.Argument,
		e.Why), Target: host.RemoteName(t),
		Hints: []string{"look at its spelling, and at what this kernel and its modules take (modinfo -p MODULE)",
			"something else may override it: another argument, /etc/modprobe.d, /etc/sysctl.d, the machine itself",
			"or leave it out"}}}
}

// Effects returns, by name, the effects of the arguments of these names that are on the command line of the running
// kernel.
func Effects(ctx context.Context, t host.Target, names ...string) (map[string]Effect, error) {
	if len(names) == 0 {
		return nil, nil
	}
	k := shownKernel{ctx: ctx, target: t}
	text, err := k.text("/proc/cmdline")
	if err != nil {
		return nil, &lab.Error{What: "can't read /proc/cmdline", Target: host.RemoteName(t), Err: err}
	}
	line := kernelArguments(text)
	effects := map[string]Effect{}
	for _, name := range names {
		if i := lastArgument(line, name); i >= 0 {
			effects[name] = k.effect(line, line[i])
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return effects, nil
}

// kernelArgument is an argument as typed, and split into the name as the kernel compares it and the value.
type kernelArgument struct {
	text, name, value string
	valued            bool
}

// kernelArguments splits a command line; the part after a lone -- is for init.
func kernelArguments(line string) []kernelArgument {
	var all []kernelArgument
	words, _ := host.SplitArguments(line)
	for _, word := range words {
		if word == "--" {
			break
		}
		a := kernelArgument{text: strings.ReplaceAll(word, `"`, "")}
		a.name, a.value, a.valued = strings.Cut(a.text, "=")
		a.name = underscored(a.name)
		all = append(all, a)
	}
	return all
}

// underscored replaces the dashes of a name by underscores, as the kernel does.
func underscored(name string) string { return strings.ReplaceAll(name, "-", "_") }

// lastArgument returns the index of the last argument of a name, which is the effective one, or -1 if there is none.
func lastArgument(line []kernelArgument, name string) int {
	last := -1
	for i, a := range line {
		if a.name == underscored(name) {
			last = i
		}
	}
	return last
}

// shownKernel reads what a kernel shows.
type shownKernel struct {
	ctx    context.Context
	target host.Target
	// log is read when it is first needed; nil until then.
	log *string
}

// effect of an argument: by the table where it has it, else by what all arguments of its form are shown in.
func (k *shownKernel) effect(line []kernelArgument, a kernelArgument) Effect {
	if rows := evidenceOf(line, a); len(rows) > 0 {
		return k.judge(a, rows)
	}
	module, parameter, dotted := strings.Cut(a.name, ".")
	switch {
	case dotted && module == "sysctl":
		return k.judge(a,
			[]evidence{{in: []string{sysctlPath(strings.TrimPrefix(a.text[:len(a.name)], "sysctl."))},
				holds: equals}})
	case dotted && parameter != "dyndbg":
		return k.parameter(a, module, parameter)
	}
	file := modulePath("kernel." + a.name) // core_param of the kernel's include/linux/moduleparam.h
	e := k.judge(a, []evidence{{in: []string{file}, holds: equals}})
	switch {
	case e.Verified, e.Missed:
	case k.unknown(a):
		e.Why = "the kernel's log has it among the arguments that it does not know"
	case !k.read(file, "").there:
		e.Why = "no place is known where a kernel shows it"
	}
	return e
}

// parameter of a module, or of code that could be one.
func (k *shownKernel) parameter(a kernelArgument, module, parameter string) Effect {
	e := k.judge(a, []evidence{{in: []string{modulePath(module + "." + parameter)}, holds: equals}})
	if e.Verified || e.Missed {
		return e
	}
	// unknown_module_param_cb of the kernel's kernel/module/main.c: the module is loaded all the same.
	for _, ignored := range regexp.MustCompile(`(\S+): unknown parameter '([^']*)' ignored`).FindAllStringSubmatch(
		k.kernelLog(), -1) {
		if underscored(ignored[1]) == module && underscored(ignored[2]) == parameter {
			e.Missed, e.Why = true, fmt.Sprintf("the kernel's log says %q", ignored[0])
		}
	}
	return e
}

// unknown reports whether the kernel has passed an argument on to user space. That does not prove that it has no
// effect: some parts of the kernel read the command line themselves (pti=). Source: print_unknown_bootoptions of the
// kernel's init/main.c.
func (k *shownKernel) unknown(a kernelArgument) bool {
	found := regexp.MustCompile(
		`Unknown kernel command line parameters "(.*)", will be passed to user space`).FindStringSubmatch(k.kernelLog())
	return found != nil && slices.Contains(strings.Fields(found[1]), a.text)
}

// judge weighs all evidence of an argument. One row that holds outweighs rows that fail, unless a row has every set.
func (k *shownKernel) judge(a kernelArgument, rows []evidence) Effect {
	e := Effect{Argument: a.text}
	var why [3][]string
	every := false
	for _, row := range rows {
		every = every || row.every
		for _, s := range k.shown(row) {
			v := silent
			if k.since(row.since) {
				v = row.verdict(a, s)
			}
			why[v] = append(why[v], row.why(v, s))
		}
	}
	switch held, failed := len(why[holds]) > 0, len(why[fails]) > 0; {
	case failed && (every || !held):
		e.Missed, e.Why = true, why[fails][0]
	case held:
		e.Verified, e.Why = true, why[holds][0]
	case len(why[silent]) > 0:
		e.Why = why[silent][0]
	default:
		e.Why = "nothing in /proc, in /sys and in the kernel's log shows it"
	}
	return e
}

// since reports whether the kernel has this version or a newer one: an older kernel may show something else there.
func (k *shownKernel) since(version string) bool {
	if version == "" {
		return true
	}
	release, err := k.text("/proc/sys/kernel/osrelease")
	return err == nil && slices.Compare(versionNumbers(release), versionNumbers(version)) >= 0
}

// versionNumbers are the first two numbers of a version: 6 and 1 of "6.1.0-50-amd64".
func versionNumbers(text string) []int {
	var numbers []int
	for _, part := range regexp.MustCompile(`^\s*(\d+)\.(\d+)`).FindStringSubmatch(text) {
		if n, err := strconv.Atoi(part); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// showing is what one place of a kernel shows.
type showing struct {
	where, text string
	// there says that it shows anything at all.
	there bool
}

func (s showing) String() string {
	switch {
	case !s.there && s.where == kernelLog:
		return "nothing in /proc and /sys shows it, and the kernel's log does not tell"
	case !s.there:
		return "there is no " + s.where
	case s.text == "":
		return s.where + " shows nothing"
	}
	const most = 80
	text := strings.Join(strings.Fields(s.text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return s.where + " shows " + text
}

// shown is what the places of a row show; of a pattern each file.
func (k *shownKernel) shown(row evidence) []showing {
	var all []showing
	for _, where := range row.in {
		switch {
		case row.lists:
			all = append(all, k.listed(where))
		case strings.Contains(where, "*"):
			all = append(all, k.matching(where)...)
		default:
			all = append(all, k.read(where, row.find))
		}
	}
	return all
}

// matching are all files of a pattern, read in one round trip.
func (k *shownKernel) matching(pattern string) []showing {
	matches := k.glob(pattern)
	readings, err := spot.Read(k.ctx, k.target, spot.Files(matches))
	if err != nil || len(matches) == 0 {
		return []showing{{where: pattern}}
	}
	var all []showing
	for i, r := range readings {
		all = append(all, showing{where: matches[i], text: r.Value, there: r.Err == nil})
	}
	return all
}

// listed are the names that match, where the folder that they would be in is there.
func (k *shownKernel) listed(pattern string) showing {
	s := showing{where: path.Dir(pattern)}
	if _, err := fs.Stat(k.target.FS(), strings.TrimPrefix(s.where, "/")); err != nil {
		return s
	}
	s.there = true
	for _, p := range k.glob(pattern) {
		s.text = strings.TrimSpace(s.text + " " + path.Base(p))
	}
	return s
}

func (k *shownKernel) glob(pattern string) []string {
	matches, err := fs.Glob(k.target.FS(), strings.TrimPrefix(pattern, "/"))
	if err != nil {
		return nil
	}
	for i := range matches {
		matches[i] = "/" + matches[i]
	}
	return matches
}

// read a file or the log, or the part of it that find matches.
func (k *shownKernel) read(where, find string) showing {
	s := showing{where: where}
	if where == kernelLog {
		s.text, s.there = k.kernelLog(), true
	} else {
		text, err := k.text(where)
		if err != nil {
			return s
		}
		s.text, s.there = text, true
	}
	s.text, s.there = part(s.text, find)
	return s
}

// part of a text that find matches last, or the text where there is none.
func part(text, find string) (found string, there bool) {
	if find == "" {
		return text, true
	}
	all := regexp.MustCompile(find).FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return text, false
	}
	return all[len(all)-1][1], true
}

// text of one file, as spots are read.
func (k *shownKernel) text(p string) (string, error) {
	readings, err := spot.Read(k.ctx, k.target, spot.Files([]string{p}))
	if err != nil {
		return "", err
	}
	return readings[0].Value, readings[0].Err
}

// kernelLog is empty where it can't be read.
func (k *shownKernel) kernelLog() string {
	if k.log == nil {
		text := ""
		if out, err := k.target.Run(k.ctx, "dmesg"); err == nil && out.ExitCode == 0 {
			text = string(out.Stdout)
		}
		k.log = &text
	}
	return *k.log
}
