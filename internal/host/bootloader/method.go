package bootloader

import (
	"context"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// bootMethod is how a machine is started once with other arguments.
type bootMethod struct {
	name string
	// find looks whether a machine can be booted so, and changes nothing; the error says why it can't.
	find func(ctx context.Context, m machine, natural Record) (loader, error)
}

// loader is a way that was found on a machine.
type loader interface {
	// plan says what is to be put on the machine for this boot: the record with it.
	plan(ctx context.Context, m machine, natural Record, wanted cmdline, kernel string) (Record, error)
	// arm makes the entry the next one, when its files are written.
	arm(ctx context.Context, m machine, r Record) error
	// boot is the command that starts the machine again.
	boot(m machine) []string
}

// bootMethods are all, the safest first. The first two leave firmware and boot loader their parts, so that a boot
// differs from an ordinary one in nothing but its arguments; a kernel that is started by kexec finds devices as the
// last one left them.
func bootMethods() []bootMethod {
	return []bootMethod{{grubName, findGRUB}, {systemdBootName, findSystemdBoot}, {kexecName, findKexec}}
}

// Methods are the names of all ways, the safest first.
func Methods() []string {
	var names []string
	for _, w := range bootMethods() {
		names = append(names, w.name)
	}
	return names
}

// choose finds the way that was asked for, or the first that is possible.
func choose(ctx context.Context, m machine, natural Record, asked string) (string, loader, error) {
	if asked != "" && !slices.Contains(Methods(), asked) {
		return "", nil, &lab.Error{Kind: lab.Usage, What: "there is no boot method called " + asked,
			Hints: []string{"there are " + strings.Join(Methods(), ", ")}}
	}
	refused := &lab.Error{Kind: lab.Refused, What: "can't start the machine once with other boot arguments",
		Target: m.Name()}
	for _, w := range bootMethods() {
		if asked != "" && w.name != asked {
			continue
		}
		found, err := w.find(ctx, m, natural)
		if err == nil {
			return w.name, found, nil
		}
		if ctx.Err() != nil {
			return "", nil, ctx.Err()
		}
		refused.Hints = append(refused.Hints, w.name+": "+err.Error())
	}
	return "", nil, refused
}

// reboot is the command that starts a machine again through its firmware.
func reboot(m machine) []string {
	if m.systemd() {
		return []string{"systemctl", "reboot"}
	}
	return []string{"reboot"}
}

// isEmpty says whether a spec asks for nothing.
func isEmpty(spec host.BootSpec) bool {
	return len(spec.Arguments) == 0 && len(spec.Without) == 0 && spec.Kernel == "" && len(spec.Machine) == 0
}
