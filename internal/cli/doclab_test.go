package cli

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/testing/designtest"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// docLab carries out the commands of one page, in their order and with one store, on scripted machines: each target
// that a command names is one, this machine too. It gives them what the commands speak of: places, ports, files.
type docLab struct {
	*testing.T
	dir      string
	network  scripted.Network
	machines map[string]*scripted.Machine
	args     []string // of the command that is carried out
	files    int      // that were written
}

// inDocLab runs a test in a bubble, in which an hour of loads takes a moment.
func inDocLab(t *testing.T, test func(l *docLab)) {
	t.Helper()
	t.Parallel()
	dir := designtest.FolderInMemory(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC))) // later than all files
		l := &docLab{T: t, dir: dir, machines: map[string]*scripted.Machine{}}
		l.prepare()
		test(l)
	})
}

// carryOut runs a command line and returns what went wrong. Commands that measure are carried out with --dry-run,
// unless a later one of the page is about what they save.
func (l *docLab) carryOut(line string, later []docCommand) (fault string) {
	l.Helper()
	time.Sleep(time.Minute) // of two runs one is the newer
	l.args = l.arguments(line)
	args := append([]string{"--store", l.store()}, l.args...)
	c, _, err := documentedRoot().Find(l.args)
	if err != nil {
		return err.Error()
	}
	names := func(flag string) bool { return strings.Contains(line, " "+flag) }
	live := names("--live") || names("--layers")
	measures := c.Flags().Lookup("dry-run") != nil && !names("--show") && !names("--resume") &&
		(l.args[0] != "compare" || live)
	if measures {
		args = l.onThisMachine(args, names("--layers"))
	}
	if measures && !names("--dry-run") && !isNeeded(l.args, later) {
		args = append(args, "--dry-run")
	}
	code, stdout, stderr := l.run(args...)
	switch done := strings.Contains(stderr, "so there is nothing to resume"); {
	case code == 0, done:
	case code == 3, code == 5: // a gate was not met, or that is undecided
	default:
		return fmt.Sprintf("exit code %d\n%s%s", code, stdout, stderr)
	}
	return ""
}

// isNeeded says whether a later command of the page shows the run that this one saves.
func isNeeded(args []string, later []docCommand) bool {
	if args[0] != "run" && args[0] != "net" {
		return false
	}
	label := ""
	if i := slices.Index(args, "--label"); i >= 0 {
		label = args[i+1]
	}
	newest := true
	for _, c := range later {
		switch {
		case strings.HasPrefix(c.line, "headroom history "), label != "" && strings.Contains(c.line, label),
			newest && strings.Contains(c.line, "last"):
			return true
		case strings.HasPrefix(c.line, "headroom run "), strings.HasPrefix(c.line, "headroom net "):
			newest = false
		}
	}
	return false
}

// onThisMachine names this machine as one elsewhere, whose devices scripted machines have.
func (l *docLab) onThisMachine(args []string, layers bool) []string {
	const here = "ssh://here"
	kinds := app.New(app.Environment{}).AllKinds()
	named := slices.ContainsFunc(l.args, func(arg string) bool {
		_, role, _ := strings.Cut(arg, "=")
		return arg == "--guest" || arg == "network" || strings.Contains(arg, "links.yaml") || kinds.Has(arg) ||
			kinds.Has(role)
	})
	switch {
	case named || slices.Contains([]string{"net", "nfs"}, l.args[0]) || slices.Contains(l.args, "--on"):
		return args
	case layers:
		place := slices.IndexFunc(args, func(arg string) bool {
			return strings.HasPrefix(arg, "/") && !strings.HasPrefix(arg, l.dir)
		})
		return slices.Insert(slices.Clone(args), place, here)
	case l.args[0] == "compare":
		return append(args, here)
	}
	return append(args, "--on", here)
}

// prepare gives the reader a folder of suites, and two runs.
func (l *docLab) prepare() {
	l.Helper()
	suites := filepath.Join(l.dir, "suites")
	if err := os.MkdirAll(suites, 0o700); err != nil {
		l.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(suites, "nightly.yaml"), []byte(designReads), 0o600); err != nil {
		l.Fatal(err)
	}
	for _, label := range []string{"before", "later"} {
		time.Sleep(time.Minute)
		args := []string{"run", l.write("nvme.yaml"), "/srv", "--on", "ssh://here", "--label", label}
		if code, _, errs := l.run(append(args, "--store", l.store())...); code != 0 {
			l.Fatal(errs)
		}
	}
}

func (l *docLab) store() string { return filepath.Join(l.dir, "store") }

func (l *docLab) run(args ...string) (code int, stdout, stderr string) {
	env := map[string]string{"HEADROOM_SUITES": filepath.Join(l.dir, "suites"),
		"HEADROOM_TARGETS": "fast-nas=ssh://root@nas:2222 db=ssh://db1"}
	var out, errs bytes.Buffer
	code = Run(l.Context(), app.Environment{Args: append([]string{"headroom"}, args...), Stdin: strings.NewReader(""),
		Stdout: &out, Stderr: &errs, Env: func(name string) string { return env[name] }, Version: "test",
		Signals: make(chan os.Signal, 8), Kinds: l.kinds(),
		Exit: func(code int) { l.Errorf("%s: the clean-up was cut short, with exit code %d", args, code) }})
	return code, out.String(), errs.String()
}

// kinds are those of the program, with scripted machines behind the names.
func (l *docLab) kinds() (kinds []app.TargetKind) {
	for _, k := range app.New(app.Environment{}).AllKinds() {
		kind := app.TargetKind{Scheme: k.Scheme, Form: k.Form, Traits: k.Traits, Disks: k.Disks}
		if k.Scheme == app.LocalTarget {
			kind.Traits = nil // its devices would be looked for on the real machine
		}
		kind.Open = func(_ context.Context, name string) (host.Target, error) { return l.open(name) }
		if k.OpenSet != nil {
			kind.OpenSet = l.openSet
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

func (l *docLab) openSet(_ context.Context, name string, _ []string) (*app.TargetSet, error) {
	set := &app.TargetSet{Close: func() error { return nil }}
	for i := range 3 {
		member := fmt.Sprintf("worker-%d", i+1)
		t, err := l.open(name + "&node=" + member)
		if err != nil {
			return nil, err
		}
		set.Targets, set.Members = append(set.Targets, t), append(set.Members, member)
	}
	return set, nil
}

// docGuest is a machine that headroom made, with blank devices.
type docGuest struct{ scripted.Host }

func (docGuest) MadeBlank(context.Context, string) (bool, error) { return true, nil }
func (docGuest) Unseen() bool                                    { return false }

// docPod is a pod with a volume.
type docPod struct{ scripted.Place }

func (docPod) MadeBlank(context.Context, string) (bool, error) { return true, nil }
func (docPod) Unseen() bool                                    { return false }

func (l *docLab) open(name string) (host.Target, error) {
	m := l.machines[name]
	if m == nil {
		m = l.network.New(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(name, "-"))
		l.machines[name] = m
		prepareForDocs(m)
	}
	if i := slices.Index(l.args, "--reboot"); i >= 0 && l.args[i+1] == name {
		m.Kexecs()
	}
	l.givePlaces(m)
	l.givePorts(m, name)
	t, err := m.Open(name)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(name, "qemu:"):
		return docGuest{scripted.Host{Target: t}}, nil
	case strings.Contains(name, "mode=block"):
		return docPod{scripted.Place{Target: t, Path: "/dev/nvme1n1"}}, nil
	case strings.HasPrefix(name, "kube:") && !strings.Contains(name, "privileged"):
		return docPod{scripted.Place{Target: t, Path: "/srv"}}, nil
	}
	return t, nil
}

// prepareForDocs has a machine have what is beyond that of other tests.
func prepareForDocs(m *scripted.Machine) {
	m.Folder("/run")
	m.Folder("/sys/kernel/sunrpc")
	m.SetOutput("sh -c 'exec ls -l /proc/[0-9]*/fd 2>/dev/null'", scripted.Output{})
	m.SetOutput("systemctl is-active nfs-server", scripted.Output{Stdout: "active\n"})
	m.SetOutput("sockperf --version", scripted.Output{Stdout: "sockperf, version 3.10\n"})
	m.SetOutput("tc -json qdisc show dev eth0", scripted.Output{
		Stdout: `[{"kind":"fq_codel","handle":"0:","dev":"eth0","root":true,"refcnt":2,"options":{}}]`})
	for drive := range 3 {
		if name := fmt.Sprintf("/dev/nvme%dn1", drive); !m.Exists(name) {
			m.AddDrive(drive)
		}
	}
}

// givePlaces makes the folders and devices that the command names.
func (l *docLab) givePlaces(m *scripted.Machine) {
	named := regexp.MustCompile(`(?:^|[=,:])(/[A-Za-z0-9/_.-]+)`)
	for _, arg := range l.args {
		for _, p := range named.FindAllStringSubmatch(arg, -1) {
			switch place := p[1]; {
			case strings.HasPrefix(place, l.dir), strings.HasPrefix(place, "//"), m.Exists(place):
			case strings.HasPrefix(place, "/dev/"):
				m.Link(place, "/dev/nvme2n1")
			default:
				m.Folder(place)
			}
		}
	}
}

// givePorts gives the server the addresses that the command names, and the others one in each of these subnets.
func (l *docLab) givePorts(m *scripted.Machine, name string) {
	isServer := slices.ContainsFunc(l.args, func(arg string) bool { return arg == "server="+name })
	addresses := map[string]bool{}
	for _, arg := range l.args {
		for _, a := range regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+\b`).FindAllString(arg, -1) {
			addresses[a] = true
		}
	}
	if len(addresses) == 0 && slices.ContainsFunc(l.args, func(arg string) bool {
		return strings.Contains(arg, "eth1")
	}) {
		addresses["198.18.1.1"] = true
	}
	for i, a := range slices.Sorted(maps.Keys(addresses)) {
		port := fmt.Sprintf("eth%d", i+1)
		if m.Exists("/sys/class/net/" + port) {
			continue
		}
		if !isServer {
			a = a[:strings.LastIndex(a, ".")] + fmt.Sprintf(".%d", 100+m.Number)
		}
		m.AddPort(port, a)
		m.Set(fmt.Sprintf("/sys/class/net/%s/device/msi_irqs/%d", port, 40+i), "msix")
		m.Set(fmt.Sprintf("/proc/irq/%d/smp_affinity_list", 40+i), "0-3")
	}
}

// fileArgument is an argument that names a file of the reader's: "guest.yaml", "client=qemu:guest.yaml",
// "rdma=page.txt:55-74".
var fileArgument = regexp.MustCompile(`^((?:[a-zA-Z ]*=)?(?:qemu:)?)((?:\./)?[\w/.-]+\.[a-z]+)(:[0-9-]+)?$`)

// arguments takes a command line apart. The files that it names are written, those of docs found.
func (l *docLab) arguments(line string) []string {
	line = strings.NewReplacer("$CACHE", l.dir, "$TMPDIR", "/srv").Replace(line)
	args := argumentsOf(line)[1:]
	for i, arg := range args {
		switch arg { // words that stand for what the reader has
		case "DIR":
			args[i] = "/srv"
		case "RUN":
			args[i] = "before"
		case "FILE":
			args[i] = l.write("node.json")
		}
		m := fileArgument.FindStringSubmatch(arg)
		switch {
		case m == nil || path.IsAbs(m[2]):
		case isHere(m[2]):
			args[i] = m[1] + l.fromRoot(m[2]) + m[3]
		case i > 0 && (args[i-1] == "-o" || args[i-1] == "--output"):
			args[i] = filepath.Join(l.dir, m[2])
		default:
			if file := l.write(m[2]); file != "" {
				args[i] = m[1] + file + m[3]
			}
		}
	}
	return args
}

// isHere says whether a file is of the repository.
func isHere(name string) bool {
	_, err := os.Stat("../../" + name)
	return err == nil
}

func (l *docLab) fromRoot(name string) string {
	l.Helper()
	file, err := filepath.Abs("../../" + name)
	if err != nil {
		l.Fatal(err)
	}
	return file
}

// docSuite is a suite that any place can be measured with.
const docSuite = `version: 1
name: %s
title: one load that only reads
repetitions: 2
jobs:
  - {name: randread, fio: {rw: randread, bs: 64k, runtime: 2s, time_based: 1}, steps: [load]}
`

// block is the first one of a language on a page.
func (l *docLab) block(page, language string) string {
	l.Helper()
	text, err := os.ReadFile("../../docs/howto/" + page)
	if err != nil {
		l.Fatal(err)
	}
	return blocks(string(text), language)[0]
}

// write writes a file of the reader's, by how its name ends. Each differs from the last in one setting.
func (l *docLab) write(name string) string {
	level := map[bool][2]string{true: {"60", "y"}, false: {"10", "n"}}[l.files%2 == 0]
	var text string
	switch path.Ext(name) {
	case ".yaml":
		switch name {
		case "guest.yaml":
			text = l.block("guests.md", "yaml")
		case "mine.yaml":
			text = l.block("doctor.md", "yaml-rule")
		default:
			text = fmt.Sprintf(docSuite, strings.TrimSuffix(filepath.Base(name), ".yaml"))
		}
	case ".fio":
		text = "[job]\nrw=randread\nbs=4k\nsize=16m\nruntime=60s\ntime_based=1\n"
	case ".conf":
		text = fmt.Sprintf("vm.swappiness = %[1]s\nvm.dirty_ratio = %[1]s\n", level[0])
	case ".config":
		text = fmt.Sprintf("CONFIG_INIT_ON_FREE_DEFAULT_ON=%[1]s\nCONFIG_INIT_ON_ALLOC_DEFAULT_ON=%[1]s\n", level[1])
	case ".txt":
		published, err := os.ReadFile("../../docs/examples/nfs-over-rdma.txt")
		if err != nil {
			l.Fatal(err)
		}
		lines := strings.Split(string(published), "\n")
		switch name { // its stages, each in a file
		case "ram.txt":
			lines = lines[12:33]
		case "tcp.txt":
			lines = lines[33:54]
		}
		text = strings.Join(lines, "\n")
	case ".json":
		m := l.machines["ssh://"+name]
		if m == nil {
			m = l.network.New(name)
			l.machines["ssh://"+name] = m
		}
		m.Set("/proc/sys/vm/swappiness", level[0])
		m.Set("/proc/sys/vm/dirty_ratio", level[0])
		code, out, errs := l.run("--store", l.store(), "facts", "ssh://"+name, "--json")
		if code != 0 {
			l.Fatal(errs)
		}
		text = out
	default:
		return ""
	}
	l.files++
	file := filepath.Join(l.dir, filepath.Base(name))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		l.Fatal(err)
	}
	return file
}
