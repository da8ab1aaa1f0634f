package scripted

import (
	"crypto/rand"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Machine is a scripted machine. Its fields must be set before anything is run on it, or between commands.
type Machine struct {
	// Name is the host's name. Number, from 1, makes values that must differ between machines, and is part of Address.
	Name, Address string
	Number        int
	// Fio determines the speed of fio's loads; nil for Drive. Stream does so for iperf3's clients; nil for Wire.
	Fio    func(*Load) IO
	Stream func(*Load) Stream
	// NextHops are the next hops of routes that have several, by destination address.
	NextHops map[string][]NextHop
	// Exchange determines the results of clients of sockperf and perftest; nil for RequestResponse.
	Exchange func(*Load) Exchange
	// Programs are further programs that jobs can run, by file name.
	Programs map[string]func(*Load) Result
	// Noise is the maximum deviation, as a share, of loads of the default models and of Fio. It is the same in each run
	// of a test.
	Noise float64
	// Patience is how long a lost connection is retried, by the clock.
	Patience time.Duration
	// Free is the free space on each of its file systems, in bytes.
	Free int64
	// Network contains the machines that it can reach; nil for itself alone.
	Network *Network
	// Answer, if not nil, is asked first for the output of a command; false means that it has none.
	Answer func(argv []string) (Output, bool)
	// OnMount gets the options of an NFS mount and may change them as a kernel would. It returns why the mount fails,
	// or an empty string. It may be nil.
	OnMount func(*Mount) (why string)
	// OnBoot gets the kernel arguments of a boot; its error is why the machine does not come up. It may be nil.
	OnBoot func(kernelArguments string) error

	tree *tree
	mu   sync.Mutex // of everything below; never held during calls of other code
	// answers are the outputs of commands, by command line.
	answers  map[string]Output
	absent   map[string]bool
	triggers []*trigger
	ran      []string
	loads    []*Load
	// unexpected are the commands without a script.
	unexpected []string
	processes  []*process
	spent      counters
	booted     time.Time
	boots      int
	own        string // its kernel's command line
	// kexecs is true if it is rebooted like a real host; next are the arguments of the kernel loaded for the next boot.
	kexecs     bool
	next       string
	lost       bool
	destroyed  error
	generation int
	ports      []port // in addition to eth0
	mounts     []*Mount
	mountsMade int
}

// Output is what a command prints.
type Output struct {
	Stdout, Stderr string
	Exit           int
}

// Network is a set of machines that reach each other.
type Network struct {
	mu       sync.Mutex
	machines []*Machine
}

// at returns the machine with an address; nil if there is none.
func (n *Network) at(address string) *Machine {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.machines {
		if m != nil && m.owns(address) {
			return m
		}
	}
	return nil
}

// New returns a server like server.txtar, on a separate network.
func New(name string) *Machine { return new(Network).New(name) }

// New returns a server on the network.
func (n *Network) New(name string) *Machine {
	n.mu.Lock()
	n.machines = append(n.machines, nil)
	number := len(n.machines)
	n.mu.Unlock()
	m := &Machine{Name: name, Number: number, Address: fmt.Sprintf("198.18.0.%d", number), Network: n,
		Programs: map[string]func(*Load) Result{},
		Patience: 2 * time.Minute, Free: 800 << 30,
		tree: newTree(), answers: map[string]Output{}, absent: map[string]bool{}, booted: time.Now().Add(-time.Hour),
		spent: newCounters()}
	fill := strings.NewReplacer("{host}", name, "{number}", fmt.Sprintf("%02d", number), "{address}", m.Address)
	if err := m.load(server, fill); err != nil {
		panic(err) // the file is part of the program
	}
	m.Set("/etc/machine-id", strings.ToLower(rand.Text())) // no other machine has it
	m.own = m.Get("/proc/cmdline")
	for _, tool := range []string{"bpftool", "dmsetup", "drbdsetup", "ethtool", "nvme", "perccli", "qm", "rdma",
		"smartctl", "ssacli", "storcli", "lctl", "zpool"} {
		m.absent[tool] = true
	}
	m.count()
	n.mu.Lock()
	n.machines[number-1] = m
	n.mu.Unlock()
	return m
}

// Get returns the content of a file, without the white space around it; empty if there is no file.
func (m *Machine) Get(name string) string {
	text, _ := m.tree.text(name)
	return strings.TrimSpace(string(text))
}

// Exists reports whether there is a file or a folder.
func (m *Machine) Exists(name string) bool {
	_, err := m.tree.stat(name, false)
	return err == nil
}

// Names returns the names in a folder.
func (m *Machine) Names(folder string) []string {
	entries, _ := m.tree.list(folder)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// Set replaces the content of a file, as another process would: no rule of the kernel applies.
func (m *Machine) Set(name, text string) {
	n := m.at(name)
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n.data, n.size, n.now, n.err = []byte(text+"\n"), 0, nil, nil
}

// at returns the node of a file, and makes it if necessary.
func (m *Machine) at(name string) *node {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n, _, err := m.tree.find(name, true)
	if err != nil {
		n = m.tree.make(0o644)
		m.tree.put(name, n)
	}
	return n
}

// Computed makes a function compute the content of a file whenever it is read.
func (m *Machine) Computed(name string, now func() string) {
	n := m.at(name)
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n.now = now
}

// OnWrite sets the kernel's rule for writes to a file of /proc or /sys: it returns the new content, or an error
// (syscall.EINVAL).
func (m *Machine) OnWrite(name string, rule func(old, written string) (string, error)) {
	n := m.at(name)
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n.set = rule
}

// Close makes a file or folder unreadable.
func (m *Machine) Close(name string, why error) {
	n := m.at(name)
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n.err = why
}

// ReadOnly makes a file read-only, by its mode.
func (m *Machine) ReadOnly(name string) {
	n := m.at(name)
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n.mode &^= 0o222
}

// Sized makes a file of a size whose content is not used.
func (m *Machine) Sized(name string, size int64) {
	n := m.at(name)
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n.size = size
}

// Link makes a symbolic link.
func (m *Machine) Link(name, to string) {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n := m.tree.make(fs.ModeSymlink | 0o777)
	n.link = to
	m.tree.put(name, n)
}

// Folder makes a folder, and those above it.
func (m *Machine) Folder(name string) {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	m.tree.folder(name)
}

// Remove deletes a file or a folder with its content, and reports whether it existed.
func (m *Machine) Remove(name string) bool { return m.tree.remove(name) }

// SetOutput sets the output of a command. The command line is written as in a shell: "ip -json address show".
func (m *Machine) SetOutput(command string, out Output) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers[command] = out
}

// Without removes programs, as if not installed.
func (m *Machine) Without(programs ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range programs {
		m.absent[p] = true
		maps.DeleteFunc(m.answers, func(command string, _ Output) bool { return strings.HasPrefix(command, p+" ") })
	}
}

// Commands returns the command lines of all short commands that were run, in order, including those for a shell.
func (m *Machine) Commands() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.ran)
}

// Loads returns all jobs that were started, in order.
func (m *Machine) Loads() []*Load {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.loads)
}

// Running returns the IDs of the running jobs.
func (m *Machine) Running() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []string
	for _, p := range m.processes {
		if p.ended.IsZero() {
			ids = append(ids, p.load.ID)
		}
	}
	return ids
}

// Unexpected returns the commands and loads without a script. A test that has any must be completed.
func (m *Machine) Unexpected() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.unexpected)
}

// unexpectedCommand returns the error of a command without a script.
func (m *Machine) unexpectedCommand(argv []string) error {
	line := lab.ShellQuote(argv)
	m.mu.Lock()
	m.unexpected = append(m.unexpected, line)
	m.mu.Unlock()
	return &lab.Error{What: "nothing is written down for scripted machine " + m.Name + " about: " + line,
		Hints: []string{"define it with Machine.Prints, Machine.Answer or Machine.Programs"}}
}

// Disconnect makes the machine unreachable. Its processes continue.
func (m *Machine) Disconnect() {
	m.mu.Lock()
	if m.lost {
		m.mu.Unlock()
		return
	}
	m.lost = true
	var open []*job
	for _, p := range m.processes {
		open = append(open, p.handles...)
	}
	m.mu.Unlock()
	for _, j := range open {
		time.AfterFunc(m.Patience, j.loseContact)
	}
}

// Reconnect makes the machine reachable again.
func (m *Machine) Reconnect() {
	m.mu.Lock()
	m.lost = false
	var over []*job
	for _, p := range m.processes {
		if !p.ended.IsZero() {
			over = append(over, p.handles...)
		}
	}
	m.mu.Unlock()
	for _, j := range over {
		j.close()
	}
}

// boot reboots the machine: processes are gone, and so is state in the kernel's memory.
func (m *Machine) boot() {
	m.mu.Lock()
	running := slices.Clone(m.processes)
	m.processes = nil
	m.boots++
	m.booted = time.Now()
	m.spent = newCounters()
	boots := m.boots
	m.mu.Unlock()
	for _, p := range running {
		p.end(-1, "killed")
	}
	for _, n := range m.Mounts() {
		m.unmount(n.Point)
		if strings.HasPrefix(n.Point, "/run/") { // a file system in memory
			m.Remove(n.Point)
		}
	}
	fresh := (&Network{machines: make([]*Machine, m.Number-1)}).New(m.Name)
	for _, part := range []string{"proc", "sys"} {
		fresh.tree.mu.Lock()
		kernel := fresh.tree.root.names[part]
		fresh.tree.mu.Unlock()
		m.tree.mu.Lock()
		m.tree.root.names[part] = kernel
		m.tree.mu.Unlock()
	}
	m.Remove("/dev/shm")
	m.Folder("/dev/shm")
	m.Remove(path.Dir(settingLocks)) // the machine makes the rest of /run again
	m.count()
	m.showKexec()
	m.Set("/proc/cmdline", m.own)
	m.Set("/proc/sys/kernel/random/boot_id", fmt.Sprintf("00000000-0000-4000-8000-%010d%02d", boots, m.Number))
}
