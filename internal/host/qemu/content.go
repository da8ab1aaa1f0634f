package qemu

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// ready is printed on the guest's console when it listens for SSH. Errors of init are printed before it.
const ready = "headroom: this guest is ready"

// setupFailed is printed on the console after the output of the description's commands, if they failed.
const setupFailed = "headroom: the setup failed"

// sshdPrograms are parts of OpenSSH's server that are separate programs in newer versions.
func sshdPrograms() []string {
	return []string{"/usr/lib/openssh/sshd-session", "/usr/lib/openssh/sshd-auth", "/usr/libexec/openssh/sshd-session",
		"/usr/libexec/openssh/sshd-auth"}
}

// content returns the temporary file system of a guest, without its keys and the file that loads its modules. It is not
// compressed: an emulated processor decompresses slower than it copies.
func content(ctx context.Context, f File, k kernel) ([]byte, []module, error) {
	a := NewArchive()
	for _, d := range []string{"proc", "sys", "dev", "tmp", "root", "run/sshd", "var/tmp", "var/log", "mnt"} {
		a.Folder(d)
	}
	busybox, err := FindProgram("busybox")
	if err != nil {
		return nil, nil, missing("busybox", "busybox-static", err)
	}
	sshd, err := FindProgram("sshd")
	if err != nil {
		return nil, nil, missing("sshd", "openssh-server", err)
	}
	programs := []string{busybox, sshd}
	for _, p := range sshdPrograms() {
		if exists(p) {
			programs = append(programs, p)
		}
	}
	wanted := append([]string{"fio"}, f.Programs...)
	if withRDMA(f.Networks) {
		wanted = append(wanted, "rdma")
	}
	for _, p := range wanted {
		if _, err := FindProgram(p); err != nil {
			return nil, nil, missing(p, packageOf(p), err)
		}
		programs = append(programs, p)
	}
	if err := a.Programs(ctx, programs...); err != nil {
		return nil, nil, err
	}
	applets, err := exec.CommandContext(ctx, busybox, "--list").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("%s --list: %w", busybox, err)
	}
	for name := range strings.FieldsSeq(string(applets)) {
		a.Link("bin/"+name, busybox)
	}
	modules, err := addModules(ctx, a, f, k)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range f.Files {
		if err := a.Copy(file); err != nil {
			return nil, nil, &lab.Error{What: "can't copy a file into the guest", Err: err}
		}
	}
	if f.Setup != "" {
		a.File(setupFile, 0o644, []byte(f.Setup))
	}
	for name, text := range configuration() {
		a.File(name, 0o644, []byte(text))
	}
	a.File("init", 0o755, []byte(initScript(busybox, sshd, f)))
	return a.Bytes(), modules, nil
}

// packageOf returns the package of a program, if it is not named like the program.
func packageOf(program string) string {
	if program == "rdma" {
		return "iproute2"
	}
	return program
}

func missing(program, from string, err error) error {
	return &lab.Error{What: "a guest needs " + program + " of this machine", Hints: []string{"apt install " + from},
		Err: err}
}

// module is a kernel module that a guest loads.
type module struct {
	name string
	// asked is set for a module that is wanted itself, and not only as a dependency.
	asked bool
}

// addModules adds the modules of the network card, the disks and the description, and returns them in loading order.
func addModules(ctx context.Context, a *Archive, f File, k kernel) ([]module, error) {
	if k.modules == "" {
		return nil, nil
	}
	names := []string{"virtio_pci", "virtio_net"}
	for _, d := range f.Disks {
		switch d.Kind {
		case nvme:
			names = append(names, "nvme")
		case virtioBlk:
			names = append(names, "virtio_blk")
		case virtioSCSI:
			names = append(names, "virtio_scsi", "sd_mod")
		case sata:
			names = append(names, "ahci", "sd_mod")
		}
	}
	all, err := FindModules(k.modules)
	if err != nil {
		return nil, err
	}
	if withRDMA(f.Networks) {
		names = append(names, "rdma_rxe")
		if crc := "crc32_generic"; len(all.Missing(crc)) == 0 {
			names = append(names, crc) // which rdma_rxe requests by the algorithm's name only when a card is added
		}
	}
	names = append(names, f.Modules...)
	inOrder, err := all.InOrder(ctx, names...)
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: "the kernel " + filepath.Base(k.image) +
			" lacks a module that the guest needs", Err: err}
	}
	var modules []module
	for _, m := range inOrder {
		a.File(moduleFile(m.Name), 0o644, m.Data)
		asked := slices.ContainsFunc(names, func(n string) bool { return strings.ReplaceAll(n, "-", "_") == m.Name })
		modules = append(modules, module{m.Name, asked})
	}
	return modules, nil
}

func moduleFile(name string) string { return "modules/" + name + ".ko" }

// loadFile has the commands that load the modules. It is written for each start, since the kernel's command line has
// options for the modules.
const loadFile = "etc/headroom-modules"

// refusedArguments is printed on the console for a module that was not loaded because of its options.
const refusedArguments = "headroom: not loaded with the arguments of the kernel's command line: "

// loadScript returns the script that loads modules with their options from the command line, like modprobe: insmod does
// not read the command line.
func loadScript(modules []module, cmdline string) string {
	arguments := ParseModuleArguments(cmdline)
	var load strings.Builder
	for _, m := range modules {
		if m.asked && arguments.Blacklisted(m.name) {
			fmt.Fprintf(&load, "echo 'headroom: modprobe.blacklist keeps the module %s out'\n", m.name)
			continue
		}
		options := arguments.Options(m.name)
		command := lab.ShellQuote(append([]string{"insmod", "/" + moduleFile(m.name)}, options...))
		failed := "headroom: the module " + m.name + " can not be loaded"
		if len(options) > 0 {
			failed = refusedArguments + m.name + " " + strings.Join(options, " ")
		}
		fmt.Fprintf(&load, "$b %s || echo %s\n", command, lab.ShellQuote([]string{failed}))
	}
	return load.String()
}

// hostName of a guest is a word of no other use: reports hide the host's name wherever it occurs, also in
// qemu:guest.yaml.
const hostName = "headroom-guest"

// configuration returns the files of /etc. There is no name resolution and no password login. The key exchange is the
// fastest that OpenSSH has, since each connection costs an emulated processor a second.
func configuration() map[string]string {
	return map[string]string{
		"etc/passwd": "root:*:0:0:root:/root:/bin/sh\nsshd:*:100:65534::/run/sshd:/bin/false\n" +
			"nobody:*:65534:65534::/:/bin/false\n",
		"etc/group":         "root:x:0:\ndisk:x:6:\nnogroup:x:65534:\n",
		"etc/hosts":         "127.0.0.1 localhost\n",
		"etc/nsswitch.conf": "hosts: files\n",
		"etc/hostname":      hostName + "\n",
		"etc/inittab":       "::ctrlaltdel:/bin/true\n",
		"etc/ssh/sshd_config": `HostKey /etc/ssh/host_key
AuthorizedKeysFile /etc/ssh/authorized_keys
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PidFile none
PrintMotd no
LogLevel ERROR
MaxSessions 100
KexAlgorithms curve25519-sha256
Subsystem sftp internal-sftp
`,
	}
}

// initScript is the first program of the guest. It reports errors on the console, where Boot finds them. The address is
// the one that QEMU's user networking forwards to. Source: QEMU's documentation, "Using the user mode network stack".
func initScript(busybox, sshd string, f File) string {
	return "#!" + busybox + " sh\nb=" + busybox + `
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs dev /dev
$b mkdir -p /dev/pts /dev/shm
$b mount -t devpts devpts /dev/pts
$b mount -t tmpfs -o mode=1777 tmpfs /dev/shm
$b mount -t tmpfs -o mode=1777 tmpfs /tmp
$b mount -t cgroup2 cgroup2 /sys/fs/cgroup
$b mount -t debugfs debugfs /sys/kernel/debug
$b mount -t securityfs securityfs /sys/kernel/security 2>/dev/null
$b hostname ` + hostName + `
. /` + loadFile + `
$b ip link set lo up
$b ip address add 10.0.2.15/24 dev eth0 && $b ip link set eth0 up || echo 'headroom: the network card can not be set up'
` + networkScript(f.Networks) + fmt.Sprintf("disks=%d\n", len(f.Disks)) + `n=0
while [ $(($(echo /sys/block/nvme*n* /sys/block/vd* /sys/block/sd* | $b tr ' ' '\n' | $b grep -vc '*'))) -lt $disks ] && [ $n -lt 100 ]; do
	$b sleep 0.1
	n=$((n+1))
done
[ $n -lt 100 ] || echo "headroom: of $disks disks there are: $(echo /sys/block/*)"
$b mkdir -p /dev/disk/by-id
for d in /sys/block/*; do
	name=$($b cat $d/device/serial $d/serial 2>/dev/null || $b tail -c +5 $d/device/vpd_pg80 2>/dev/null)
	name=$(echo $name)
	[ -z "$name" ] || $b ln -s /dev/${d##*/} /dev/disk/by-id/$name
done
` + setupScript(f) + sshd + ` -f /etc/ssh/sshd_config -E /dev/console && echo '` + ready + `'
exec $b init
`
}

// setupFile has the commands of the description.
const setupFile = "etc/headroom-setup"

// setupScript runs the commands of the description. The output of the first one that fails is on the console, before
// the line by which Boot recognises the failure.
func setupScript(f File) string {
	if f.Setup == "" {
		return ""
	}
	return "PATH=/usr/sbin:/usr/bin:/sbin:/bin $b sh -e /" + setupFile + " || { echo '" + setupFailed +
		"'; $b sleep 600; }\n"
}

// ModuleArguments are the arguments for modules on a kernel's command line. The kernel itself uses only those for
// built-in code. For modules modprobe reads the line, but insmod does not.
type ModuleArguments struct {
	options   map[string][]string
	blacklist []string
}

// ParseModuleArguments parses a command line like modprobe. An argument is a module's name up to the first dot, with
// dashes treated as underscores; a parameter without a second dot; and a value. Quotes are allowed only in the value,
// or around the whole argument, where some boot loaders move them. Arguments of another form are not for modules.
//
//	nvme.io_queue_depth=64 virtio-blk.queue_depth=8 nvme_core.multipath
//	parport.dyndbg="file drivers/parport/ieee1284_ops.c +mpf"
//	"parport.dyndbg=file drivers/parport/ieee1284_ops.c +mpf" modprobe.blacklist=rdma_rxe,ahci
//
// Source: kmod_config_parse_kcmdline in kmod's libkmod/libkmod-config.c; modprobe(8) under "blacklist".
func ParseModuleArguments(cmdline string) ModuleArguments {
	a := ModuleArguments{options: map[string][]string{}}
	words, closed := host.SplitArguments(cmdline)
	if !closed {
		words = words[:len(words)-1]
	}
	for _, word := range words {
		inner, moved := strings.CutPrefix(word, `"`)
		name, value, valued := strings.Cut(inner, "=")
		module, parameter, _ := strings.Cut(name, ".")
		module = moduleName(module)
		switch {
		case module == "" || parameter == "" || strings.ContainsAny(name, "\" \t\n") ||
			strings.Contains(parameter, "."):
		case module == "modprobe" && parameter == "blacklist":
			for listed := range strings.SplitSeq(value, ",") {
				a.blacklist = append(a.blacklist, moduleName(listed))
			}
		case !valued:
			a.options[module] = append(a.options[module], parameter)
		case moved:
			a.options[module] = append(a.options[module], parameter+`="`+value)
		default:
			a.options[module] = append(a.options[module], parameter+"="+value)
		}
	}
	return a
}

// Options returns the options of a module, each as one argument of insmod, in the order of the command line: the last
// of several takes effect.
func (a ModuleArguments) Options(module string) []string { return a.options[moduleName(module)] }

// Blacklisted reports whether a module must not be loaded for a device. It may still be loaded as a dependency.
func (a ModuleArguments) Blacklisted(module string) bool {
	return slices.Contains(a.blacklist, moduleName(module))
}
