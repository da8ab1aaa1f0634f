package scripted

import (
	"path"
	"strings"
	"time"
)

// The kernel's files about kexec.
const (
	kexecLoaded   = "/sys/kernel/kexec_loaded"
	kexecDisabled = "/proc/sys/kernel/kexec_load_disabled"
)

// Kexecs makes the machine behave like a real host that can be rebooted: by a kexec of its installed kernel, or
// by firmware, both through systemd. OnBoot is called at each boot; a machine that does not come up is unreachable
// until PowerCycle.
func (m *Machine) Kexecs() {
	m.mu.Lock()
	m.kexecs = true
	m.mu.Unlock()
	release := m.Get("/proc/sys/kernel/osrelease")
	m.Folder("/run/systemd/system")
	m.Set("/boot/vmlinuz-"+release, "a kernel")
	m.Set("/boot/initrd.img-"+release, "its first files")
	m.showKexec()
}

// showKexec makes the files that show that a kernel has kexec. Other machines lack them.
func (m *Machine) showKexec() {
	m.mu.Lock()
	has := m.kexecs
	m.mu.Unlock()
	if has {
		m.Set(kexecLoaded, "0")
		m.Set(kexecDisabled, "0")
	}
}

// kexec loads a kernel, or unloads it.
func (m *Machine) kexec(argv []string) (Output, error) {
	switch {
	case len(argv) == 2 && argv[1] == "--version":
		return Output{Stdout: "kexec-tools 2.0.29\n"}, nil
	case len(argv) == 2 && argv[1] == "--unload":
		m.Set(kexecLoaded, "0")
		return Output{}, nil
	case len(argv) > 2 && argv[1] == "--load":
		if image := argv[len(argv)-1]; !m.Exists(image) {
			return Output{Stderr: "Cannot open `" + image + "': No such file or directory\n", Exit: 255}, nil
		}
		for _, a := range argv {
			if line, ok := strings.CutPrefix(a, "--command-line="); ok {
				m.mu.Lock()
				m.next = line
				m.mu.Unlock()
			}
		}
		m.Set(kexecLoaded, "1")
		return Output{}, nil
	}
	return Output{}, m.unexpectedCommand(argv)
}

// systemctl reports that the machine is up, and reboots it.
func (m *Machine) systemctl(argv []string) (Output, error) {
	switch {
	case len(argv) == 2 && argv[1] == "is-system-running":
		return Output{Stdout: "running\n"}, nil
	case len(argv) == 2 && argv[1] == "reboot":
		m.restart(m.own)
		return Output{}, nil
	case len(argv) == 2 && argv[1] == "kexec" && m.Get(kexecLoaded) == "1":
		m.mu.Lock()
		line := m.next
		m.mu.Unlock()
		m.restart(line)
		return Output{}, nil
	}
	return Output{}, m.unexpectedCommand(argv)
}

// restart takes the machine down in a second. It comes up again after booting, unless OnBoot returns an error.
func (m *Machine) restart(line string) {
	time.AfterFunc(time.Second, func() {
		m.Disconnect()
		m.boot()
	})
	time.AfterFunc(time.Second+bootTakes, func() {
		if m.OnBoot != nil && m.OnBoot(line) != nil {
			return
		}
		m.Set("/proc/cmdline", line)
		m.Reconnect()
	})
}

// PowerCycle boots a machine that hangs, with its own arguments.
func (m *Machine) PowerCycle() {
	m.boot()
	m.Reconnect()
}

// installed reports whether a program is installed that not all machines have.
func (m *Machine) installed(program string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kexecs || path.Base(program) != "kexec" && path.Base(program) != "systemctl"
}
