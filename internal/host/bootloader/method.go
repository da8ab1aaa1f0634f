package bootloader

import (
	"context"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// bootMethod is a way to boot a machine once with other arguments.
type bootMethod struct {
	name string
	// find checks whether a machine can be booted by this method, and changes nothing; the error explains why it can't.
	find func(ctx context.Context, m machine, natural Record) (loader, error)
}

// loader is a boot method that is available on a machine.
type loader interface {
	// plan returns the record of the changes to the machine for this boot.
	plan(ctx context.Context, m machine, natural Record, wanted cmdline, kernel string) (Record, error)
	// arm selects the entry for the next boot, after its files were written.
	arm(ctx context.Context, m machine, r Record) error
	// boot returns the command that reboots the machine.
	boot(m machine) []string
}

// bootMethods are all methods, the safest first. The first two use firmware and boot loader as usual, so that a boot
// differs from a normal one only in its arguments; a kernel that is started by kexec finds devices in the state that
// the previous one left.
func bootMethods() []bootMethod {
	return []bootMethod{{grubName, findGRUB}, {systemdBootName, findSystemdBoot}, {kexecName, findKexec}}
}

// Methods returns the names of all methods, the safest first.
func Methods() []string {
	var names []string
	for _, w := range bootMethods() {
		names = append(names, w.name)
	}
	return names
}

// choose returns the requested method, or the first that is possible.
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

// reboot returns the command that reboots a machine through its firmware.
func reboot(m machine) []string {
	if m.systemd() {
		return []string{"systemctl", "reboot"}
	}
	return []string{"reboot"}
}

// isEmpty reports whether a spec changes nothing.
func isEmpty(spec host.BootSpec) bool {
	return len(spec.Arguments) == 0 && len(spec.Without) == 0 && spec.Kernel == "" && len(spec.Machine) == 0
}
