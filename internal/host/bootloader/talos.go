package bootloader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// Talos is a node of Talos Linux, reached through the user's talosctl: "talos://10.5.0.2". It has no shell: files can
// be read and the machine can be booted, but nothing else. Loads run on it as pods.
type Talos struct {
	node        string
	local       *host.Local
	options     Options
	defaultBoot Record
	// ukiCmdline is set if boot arguments are part of the installed image: with systemd-boot, and with GRUB if it takes
	// them from the image.
	ukiCmdline bool
	// legacy is set for a talosctl whose upgrades ignore the arguments in the machine configuration unless called with
	// --legacy.
	legacy bool
}

// TalosScheme is the prefix of the name of a Talos node as a target.
const TalosScheme = "talos://"

// TalosTraits are the traits of every Talos node.
func TalosTraits() host.Traits { return host.Traits{Noun: "Talos node", BootOnly: true} }

// talosName is the boot method of a Talos node.
const talosName = "talos"

// NewTalos connects to a node and determines how it can be booted; it changes nothing.
func NewTalos(ctx context.Context, node string, o Options) (*Talos, error) {
	n := &Talos{node: node, local: host.NewLocal(""), options: o.complete()}
	now, err := machine{n}.read(ctx, cmdlinePath, releasePath)
	if err != nil {
		return nil, err
	}
	n.defaultBoot = Record{Target: n.Name(), Method: talosName, Cmdline: strings.TrimSpace(now[cmdlinePath]),
		Release: strings.TrimSpace(now[releasePath])}
	client, err := n.talosctl(ctx, "version", "--client")
	if err != nil {
		return nil, err
	}
	server, err := n.talosctl(ctx, "version")
	if err != nil {
		return nil, err
	}
	if n.defaultBoot.Config, err = n.talosctl(ctx, "get", "machineconfig", "v1alpha1", "-o", "jsonpath={.spec}"); err !=
		nil {
		return nil, err
	}
	if o.Resume != nil {
		n.defaultBoot = *o.Resume
	}
	install, err := installSection(n.defaultBoot.Config)
	if err != nil {
		return nil, err
	}
	if n.ukiCmdline, err = n.bootedWithUKI(ctx); err != nil {
		return nil, err
	}
	n.ukiCmdline = n.ukiCmdline || install.GRUBUseUKICmdline
	n.legacy = talosAtLeast(talosTag(client, "Client:"), 1, 13)
	if o.Resume == nil {
		n.defaultBoot.Installer, err = installer(install.Image, talosTag(server, "Server:"))
	}
	return n, err
}

// bootedWithUKI reports whether systemd-boot started the node with an image that includes its arguments. A node that
// does not have the resource, or the field, is too old for that.
func (n *Talos) bootedWithUKI(ctx context.Context) (bool, error) {
	argv := n.argv("get", "securitystate", "-o", "jsonpath={.spec.bootedWithUKI}")
	out, err := n.local.Run(ctx, argv...)
	if printed := string(out.Stderr); err == nil && out.ExitCode != 0 && !strings.Contains(printed, "not registered") &&
		!strings.Contains(printed, "not found") {
		err = &lab.Error{What: "can't tell what started the node", Target: n.Name(), Command: argv, Output: printed}
	}
	return strings.TrimSpace(string(out.Stdout)) == "true", err
}

// Name returns "talos://" and the node.
func (n *Talos) Name() string { return TalosScheme + n.node }

// Run refuses: a node can't run commands.
func (n *Talos) Run(_ context.Context, argv ...string) (host.Output, error) {
	return host.Output{}, n.noShell(argv)
}

// Start refuses, like Run.
func (n *Talos) Start(_ context.Context, spec host.JobSpec) (host.Job, error) {
	return nil, n.noShell(spec.Argv)
}

func (n *Talos) noShell(argv []string) error {
	return &lab.Error{Kind: lab.Refused, What: "Talos has no shell, so no command can be run", Target: n.Name(),
		Command: argv,
		Hints:   []string{"loads run on a Talos node as pods"}}
}

// ReadFiles reads one file after the other: talosctl reads one at a time.
func (n *Talos) ReadFiles(ctx context.Context, paths ...string) (map[string]host.File, error) {
	files := make(map[string]host.File, len(paths))
	for _, p := range paths {
		argv := n.argv("read", p)
		out, err := n.local.Run(ctx, argv...)
		if err != nil {
			return nil, err
		}
		printed := string(out.Stderr)
		switch {
		case out.ExitCode == 0:
			files[p] = host.File{Data: out.Stdout}
		case strings.Contains(printed, "no such file or directory"):
			files[p] = host.File{Err: &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}}
		case strings.Contains(printed, "permission denied") || strings.Contains(printed, "code = PermissionDenied"):
			files[p] = host.File{Err: &fs.PathError{Op: "open", Path: p, Err: fs.ErrPermission}}
		case unreachable(printed):
			return nil, &lab.Error{What: "the node can't be reached", Target: n.Name(), Command: argv, Output: printed}
		default:
			files[p] = host.File{Err: errors.New(strings.TrimSpace(printed))}
		}
	}
	return files, nil
}

// unreachable distinguishes a node that does not answer from a file that can't be read, by the gRPC codes that talosctl
// prints.
func unreachable(printed string) bool {
	for _, code := range []string{"code = Unavailable", "code = DeadlineExceeded", "connection refused",
		"context deadline exceeded", "code = Canceled"} {
		if strings.Contains(printed, code) {
			return true
		}
	}
	return false
}

// FS is empty: talosctl has no cheap way to list folders, so files are read by name.
func (n *Talos) FS() fs.FS { return noFiles{} }

type noFiles struct{}

func (noFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (n *Talos) argv(args ...string) []string {
	return append([]string{"talosctl", "--nodes", n.node}, args...)
}

// talosctl runs talosctl, which must succeed, and returns its output.
func (n *Talos) talosctl(ctx context.Context, args ...string) (string, error) {
	argv := n.argv(args...)
	out, err := n.local.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "talosctl " + args[0] + " failed", Target: n.Name(), Command: argv,
			Output: string(out.Stderr)}
	}
	return string(out.Stdout), err
}

var tagLine = prose.Pattern(`(?m)^\s*(?:Tag:\s*|Talos )(v[0-9]+\.[0-9]+\.\S+)`)

// talosTag finds the version after a heading in the output of talosctl version.
//
//	Client:
//		Tag:         v1.10.3
//	Server:
//		NODE:        10.5.0.2
//		Tag:         v1.10.3
func talosTag(printed, heading string) string {
	_, part, _ := strings.Cut(printed, heading)
	if other, _, ok := strings.Cut(part, "Server:"); ok {
		part = other
	}
	if m := tagLine().FindStringSubmatch(part); m != nil {
		return m[1]
	}
	return ""
}

func talosAtLeast(tag string, major, minor int) bool {
	a, rest, _ := strings.Cut(strings.TrimPrefix(tag, "v"), ".")
	b, _, _ := strings.Cut(rest, ".")
	x, err1 := strconv.Atoi(a)
	y, err2 := strconv.Atoi(b)
	return err1 == nil && err2 == nil && (x > major || x == major && y >= minor)
}

// installer returns the image to upgrade to without changing the version: the image that the node was installed from,
// which also determines its extensions, at the running version.
func installer(image, running string) (string, error) {
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') && !strings.Contains(image, "@") &&
		running != "" {
		return image[:i] + ":" + running, nil
	}
	return "", &lab.Error{Kind: lab.Refused,
		What:  fmt.Sprintf("the installer image to go back to is unknown: %q of Talos %q", image, running),
		Hints: []string{"machine.install.image of the machine configuration must name one by a tag"}}
}
