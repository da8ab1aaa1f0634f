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

// Machine is a machine that is written down. Its fields are to be set before anything is run on it, or between
// commands.
type Machine struct {
	// Name is the host's; Number, from 1, makes what must differ from machine to machine, and is in Address.
	Name, Address string
	Number        int
	// Fio is how fast fio's loads are; nil for Drive. Stream is the same of iperf3's clients, for which it is nil for
	// Wire.
	Fio    func(*Load) IO
	Stream func(*Load) Stream
	// NextHops are those of routes that have several, by the address that they lead to.
	NextHops map[string][]NextHop
	// Exchange is the same of clients of sockperf and perftest, for which it is nil for RequestResponse.
	Exchange func(*Load) Exchange
	// Programs are those that jobs can run besides, by the name of their file.
	Programs map[string]func(*Load) Result
	// Noise is by how much, as a share, loads of the default models and of Fio differ from what they should be, at
	// most: the same in each run of a test.
	Noise float64
	// Patience is for how long a connection that was lost is tried for again, by the clock.
	Patience time.Duration
	// Free is the room on each of its file systems, in bytes.
	Free int64
	// Network is the machines that it reaches; nil for itself alone.
	Network *Network
	// Answer is asked first what a command prints; false is no answer. Nil where there is nothing beyond SetOutput.
	Answer func(argv []string) (Output, bool)
	// OnMount gets the options of an NFS mount and may change them as a kernel would; what it returns is why
	// there is none. Nil where nothing happens.
	OnMount func(*Mount) (why string)
	// OnBoot gets how the machine is started again; its error is why it does not come up. Nil for one that does.
	OnBoot func(kernelArguments string) error

	tree *tree
	mu   sync.Mutex // of all that follows; never held while anything else is called
	// answers are what commands print, by the command line.
	answers  map[string]Output
	absent   map[string]bool
	triggers []*trigger
	ran      []string
	loads    []*Load
	// unexpected are the commands that nobody wrote down.
	unexpected []string
	processes  []*process
	spent      counters
	booted     time.Time
	boots      int
	own        string // its kernel's command line
	// kexecs says that it is started as real hosts are, next what its kernel has loaded is to be started with.
	kexecs     bool
	next       string
	lost       bool
	destroyed  error
	generation int
	ports      []port // besides eth0
	mounts     []*Mount
	mountsMade int
}

// Output is what a command prints.
type Output struct {
	Stdout, Stderr string
	Exit           int
}

// Network is machines that reach each other.
type Network struct {
	mu       sync.Mutex
	machines []*Machine
}

// at is the machine with an address; nil where there is none.
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

// New returns a server as server.txtar has it, on a network of its own.
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

// Get is what a file holds, without the white space around it; empty where there is none.
func (m *Machine) Get(name string) string {
	text, _ := m.tree.text(name)
	return strings.TrimSpace(string(text))
}

// Exists says whether there is a file or a folder.
func (m *Machine) Exists(name string) bool {
	_, err := m.tree.stat(name, false)
	return err == nil
}

// Names are those in a folder.
func (m *Machine) Names(folder string) []string {
	entries, _ := m.tree.list(folder)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// Set has a file hold a text, as somebody else would write it: no rule of the kernel is asked.
func (m *Machine) Set(name, text string) {
	n := m.at(name)
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n.data, n.size, n.now, n.err = []byte(text+"\n"), 0, nil, nil
}

// at is the node of a file, which is made where there is none.
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

// Computed has a file hold what a function says whenever it is read.
func (m *Machine) Computed(name string, now func() string) {
	n := m.at(name)
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n.now = now
}

// OnWrite is the rule by which the kernel takes a value for a file of /proc or /sys: what the file holds then, or an
// error (syscall.EINVAL).
func (m *Machine) OnWrite(name string, rule func(old, written string) (string, error)) {
	n := m.at(name)
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n.set = rule
}

// Close has a file or folder be one that can't be read.
func (m *Machine) Close(name string, why error) {
	n := m.at(name)
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n.err = why
}

// ReadOnly has a file be one that nobody is meant to write to, as its mode says.
func (m *Machine) ReadOnly(name string) {
	n := m.at(name)
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n.mode &^= 0o222
}

// Sized makes a file of a size whose content nobody looks at.
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

// Remove deletes a file or a folder with all that is in it, and says whether there was one.
func (m *Machine) Remove(name string) bool { return m.tree.remove(name) }

// SetOutput has a command print something. The command line is written as in a shell: "ip -json address show".
func (m *Machine) SetOutput(command string, out Output) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers[command] = out
}

// Without has programs not be installed.
func (m *Machine) Without(programs ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range programs {
		m.absent[p] = true
		maps.DeleteFunc(m.answers, func(command string, _ Output) bool { return strings.HasPrefix(command, p+" ") })
	}
}

// Commands are the command lines of all short commands that were run, in order, what a shell was to run among them.
func (m *Machine) Commands() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.ran)
}

// Loads are all jobs that were started, in order.
func (m *Machine) Loads() []*Load {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.loads)
}

// Running are the IDs of the jobs that go on.
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

// Unexpected are the commands and loads that nobody wrote down. A test that has any is to be completed.
func (m *Machine) Unexpected() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.unexpected)
}

// unexpectedCommand is the error of a command that nobody wrote down.
func (m *Machine) unexpectedCommand(argv []string) error {
	line := lab.ShellQuote(argv)
	m.mu.Lock()
	m.unexpected = append(m.unexpected, line)
	m.mu.Unlock()
	return &lab.Error{What: "nothing is written down for scripted machine " + m.Name + " about: " + line,
		Hints: []string{"Machine.Prints, Machine.Answer or Machine.Programs says what it does"}}
}

// Disconnect has the machine not be reached any more. What runs there goes on.
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

// Reconnect ends what Disconnect has begun.
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

// boot starts the machine again: what runs is gone, and so is what the kernel held in memory.
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
		if strings.HasPrefix(n.Point, "/run/") { // which is memory
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
	m.Remove(path.Dir(settingLocks)) // the rest of /run the machine makes again
	m.count()
	m.showKexec()
	m.Set("/proc/cmdline", m.own)
	m.Set("/proc/sys/kernel/random/boot_id", fmt.Sprintf("00000000-0000-4000-8000-%010d%02d", boots, m.Number))
}
