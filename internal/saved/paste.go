package saved

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/pasted"
	"github.com/headroom/headroom/internal/prose"
)

// Paste reads what a person has copied from a terminal: the output of one command or of several, with prompts between
// them or without. The error names what was recognised if nothing could be read.
func Paste(name, text string) (*Machine, error) {
	if hosts := machinesIn(text); len(hosts) > 1 {
		return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%s has lines of several machines: %s and %s",
			name, hosts[0], hosts[1]),
			Hints: []string{"give the lines of one machine alone: grep '" + hosts[0] + "' FILE"}}
	}
	m, read, unread := taken(name, plain(text))
	try := func(bare []byte, fewest int) {
		if bare == nil {
			return
		}
		if n, some, left := taken(name, plain(string(bare))); len(some) >= fewest {
			m, read, unread = n, some, left
		}
	}
	try(pasted.WithoutPrefix([]byte(text)), max(1, len(read)))
	if len(read) == 0 {
		try(pasted.WithoutCommonStart([]byte(text)), 1)
	}
	m.completeLinks()
	m.partitions()
	m.disks.finish(m.pasted)
	m.finishKubernetes()
	const roots = "/sys/devices/pci*"
	if some, _ := fs.Glob(m.files, collect.PathInFS(roots)); len(some) > 0 && !slices.Contains(read, lspci) {
		m.told.add("", collect.Unknown("numa.pci_roots", roots, someFunctions)) // lspci has all of them, or says so
	}
	m.Unread = append(m.Unread, unread...)
	if len(read) > 0 {
		return m, nil
	}
	recognised := slices.DeleteFunc(slices.Clone(m.Unread), func(u string) bool {
		return strings.HasPrefix(u, notRecognised)
	})
	e := &lab.Error{Kind: lab.Usage, What: name + " holds no facts that can be read"}
	if len(recognised) > 0 {
		e.Err = errors.New(strings.Join(recognised, "; "))
	}
	e.Hints = []string{"what does is a snapshot: headroom facts --json > FILE",
		"a kernel's configuration: /boot/config-$(uname -r) or /proc/config.gz",
		"or what these print: sysctl -a, lscpu, lspci -nnvv, ethtool DEVICE, mount, nfsstat -m, numactl -H, dmesg, " +
			"lsblk, iostat, nvme list (id-ctrl, id-ns, smart-log), smartctl -x, multipath -ll, cat of a file of /proc or /sys, " +
			"qm config, virsh dumpxml, kubectl get vm,sc,pvc,pv -A -o yaml",
		"or a folder or an archive with /proc and /sys of a machine, such as a sosreport, or a supportconfig"}
	return nil, e
}

// machinesIn returns the names before the lines of a text with facts behind them. A key before a value, as qm config
// prints it, has none.
func machinesIn(text string) (names []string) {
	for _, host := range pasted.ByName([]byte(text)) {
		if _, read, _ := taken("", plain(string(host.Text))); len(read) > 0 {
			names = append(names, host.Name)
		}
	}
	return names
}

// taken reads a text into a machine, and returns what was read of it and what was not.
func taken(name, text string) (m *Machine, read, unread []string) {
	m = newMachine(name)
	m.pasted = true
	read, unread = m.take(text, nil)
	return m, read, unread
}

const notRecognised = "not recognised: "

// plain undoes what terminals, web pages, mail and Markdown do to a text: colours and no-break spaces (pasted.Plain),
// fences, marks of quotation, and an indentation of all lines.
func plain(text string) string {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = pasted.Plain(line)
	}
	common, first := "", true
	for _, line := range lines {
		indent := line[:len(line)-len(strings.TrimLeft(line, "> \t"))]
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(strings.TrimSpace(line), "```"):
		case first:
			common, first = indent, false
		default:
			for !strings.HasPrefix(indent, common) {
				common = common[:len(common)-1]
			}
		}
	}
	kept := lines[:0]
	for _, line := range lines {
		if !strings.HasPrefix(strings.TrimSpace(line), "```") {
			kept = append(kept, strings.TrimPrefix(line, common))
		}
	}
	return strings.Join(kept, "\n")
}

// block is a piece of a text that is of one kind.
type block struct {
	part *part
	// file is the path that a header or a prompt names, command the arguments that were typed.
	file    string
	command []string
	// to is set when the file is a link: where it leads.
	to string
	// filtered says that the output was handed to another command, which may have left out lines.
	filtered bool
	lines    []string
	// other says that it is a section of a report that holds no facts.
	other bool
}

func (b block) weight() int {
	switch {
	case b.file != "":
		return maxPaste
	case b.part != nil && b.part.name == lspci:
		return len(b.lines)
	}
	return 0
}

// maxPaste bounds the lines of a text that are looked at.
const maxPaste = 400_000

var (
	// prompt is what stands in front of a command that was typed: "$ ", "root@db1:~# ", "[root@db1 ~]# ", "+ ".
	prompt = prose.Pattern(`^(?:\S*@\S*[$#]|\[[^\[\]]*@[^\[\]]*\][$#]|(?:ba)?sh-[\d.]+[$#]|[$#+>%])\s+(?:sudo\s+)?(\S.*)$`)
	// header is how head and tail name files.
	header = prose.Pattern(`^==> (/?\S+|standard input) <==$`)
	// found is a line of "grep . FILES", or how people list files: a path of /proc or /sys, and what stands in it.
	//
	//	/sys/block/sda/queue/rotational:1
	//	/sys/class/net/eth0/speed = 100000
	//	/sys/class/net/eth0/mtu: 9000
	found = prose.Pattern(`^(/(?:proc|sys)(?:/(?:[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|pci[0-9a-f]{4,}:[0-9a-f]{2}|` +
		`\d+:\d+:\d+:\d+|[^\s/:]+))+)(?::| = )(.*)$`)
)

// linked is a line about a link of /sys, as "ls -l" and find print it.
//
//	lrwxrwxrwx 1 root root 0 Nov  3 10:00 /sys/class/net/eth0 -> ../../devices/pci0000:00/0000:00:03.0/net/eth0
//	/sys/block/sda -> ../devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda
var linked = prose.Pattern(`^(?:l[r-][w-][x-]\S*\s.*\s)?(/sys/\S+) -> (\S+)$`)

// Sections of supportconfig begin with two lines, sections of crm report with one, which has the command. Sources:
// supportutils, bin/supportconfig.rc (_log_cmd, conf_files); crmsh, crmsh/report/collect.py (collect_sys_stats).
//
//	#==[ Command ]======================================#
//	# /usr/bin/lscpu
//	##### Run "cat /proc/cpuinfo" #####
var (
	sectionHead = prose.Pattern(`^#==\[ .* \]=+#?$`)
	sectionRun  = prose.Pattern(`^##### [Rr]un "(.*)"(?: #####| on \S+)$`)
)

// sectionBlock begins a section of a report. Of files it has many that are no machine's state, such as those of /etc.
func sectionBlock(label string) block {
	typed, _, _ := strings.Cut(label, "|")
	words := strings.Fields(typed)
	switch {
	case len(words) == 1 && fileBlock(words[0]).file != "":
		return fileBlock(words[0])
	case len(words) > 0 && isProgram(words[0]):
		return typedBlock(words)
	}
	return block{other: true}
}

// isProgram reports whether a word is a command that may follow a bare "#", which also begins comments.
func isProgram(word string) bool {
	return slices.Contains([]string{"cat", "head", "tail", "grep", "sysctl", "lscpu", "lspci", "lsblk", "mount",
		"findmnt", "nfsstat", "numactl", "dmesg", "journalctl", "uname", "ethtool", "ip", "ps", "free", "df",
		"virsh", "qm", "multipath", "multipathd", "nvme", "smartctl", "iostat", "kubectl", "talosctl"}, path.Base(word))
}

// split cuts a text where a prompt, a header or the first line of another kind of output stands. command is what
// printed its beginning, where that is known.
func split(text string, command []string, all []part) []block {
	blocks := []block{{command: command}}
	lines := strings.SplitN(text, "\n", maxPaste)
	for _, line := range lines {
		line = strings.TrimRight(line, "\r")
		now := &blocks[len(blocks)-1]
		switch run := sectionRun().FindStringSubmatch(line); {
		case run != nil:
			blocks = append(blocks, sectionBlock(run[1]))
			continue
		case sectionHead().MatchString(line):
			blocks = append(blocks, block{other: true, lines: []string{line}})
			continue
		case now.other && len(now.lines) == 1 && strings.HasPrefix(line, "# "):
			blocks[len(blocks)-1] = sectionBlock(line[2:])
			continue
		case now.other:
			now.lines = nil
			continue
		}
		if h := header().FindStringSubmatch(line); h != nil {
			blocks = append(blocks, fileBlock(h[1]))
			continue
		}
		if p := prompt().FindStringSubmatch(line); p != nil {
			// No words are left of blanks that \S matches, such as a vertical tab.
			words := strings.Fields(p[1])
			if len(words) > 0 &&
				(strings.ContainsAny(p[0][:1], "[$") || len(p[0])-len(p[1]) > 8 || isProgram(words[0])) {
				typed, _, filtered := strings.Cut(p[1], "|")
				blocks = append(blocks, typedBlock(strings.Fields(typed)))
				blocks[len(blocks)-1].filtered = filtered
				continue
			}
		}
		if l := linked().FindStringSubmatch(line); l != nil {
			to := l[2]
			if !path.IsAbs(to) {
				to = path.Join(path.Dir(l[1]), to)
			}
			blocks = append(blocks, block{file: l[1], to: to}, block{})
			continue
		}
		if f := found().FindStringSubmatch(line); f != nil {
			if n := len(blocks); n > 1 && blocks[n-2].file == f[1] && len(now.lines) == 0 {
				blocks[n-2].lines = append(blocks[n-2].lines, f[2])
				continue
			}
			blocks = append(blocks, block{file: f[1], lines: []string{f[2]}}, block{})
			continue
		}
		if isValue(now.file) && strings.TrimSpace(line) == "" && len(now.lines) > 0 {
			blocks = append(blocks, block{}) // what follows is no part of a value
			continue
		}
		if now.file == "" || len(now.lines) == 0 {
			i := slices.IndexFunc(all, func(p part) bool { return p.begins.MatchString(line) })
			if i >= 0 && (now.part == nil || now.part.name != all[i].name || all[i].each) {
				if now.part != nil || !opens(now.lines) {
					next := block{command: now.command, filtered: now.filtered}
					if now.part != nil {
						next = block{} // the command printed what stands before
					}
					blocks = append(blocks, next)
					now = &blocks[len(blocks)-1]
				}
				now.part = &all[i]
			}
		}
		now.lines = append(now.lines, line)
	}
	return blocks
}

// opens reports whether the lines are at most the dashes that begin a document of YAML, or the name that begins what
// kubectl describes.
func opens(lines []string) bool {
	return len(lines) == 0 || len(lines) == 1 && (lines[0] == "---" || strings.HasPrefix(lines[0], "Name: "))
}

// fileBlock begins a file. Files that no fact is read from, such as those in /etc/pve, are known by what they hold.
func fileBlock(name string) block {
	if strings.HasPrefix(name, "/proc/") || strings.HasPrefix(name, "/sys/") || name == "/etc/os-release" {
		return block{file: name}
	}
	return block{}
}

// isValue reports whether a file holds a value, with no empty line in it.
func isValue(name string) bool {
	return strings.HasPrefix(name, "/sys/") || strings.HasPrefix(name, "/proc/sys/") || name == "/proc/cmdline"
}

func typedBlock(words []string) block {
	if len(words) == 0 {
		return block{}
	}
	words[0] = path.Base(words[0])
	if words[0] == "cat" && len(words) == 2 {
		return fileBlock(words[1])
	}
	return block{command: words}
}

// take reads a text into the machine, and returns the names of what was read of it and of what was not. command printed
// its beginning, where that is known.
func (m *Machine) take(text string, command []string) (read, unread []string) {
	add := func(list *[]string, what string) {
		if !slices.Contains(*list, what) && len(*list) < 20 {
			*list = append(*list, what)
		}
	}
	all := parts()
	// What is read first counts: files of the kernel say more than commands that read them, and of several lists of PCI
	// functions the longest says most.
	blocks := split(text, command, all)
	slices.SortStableFunc(blocks, func(a, b block) int { return b.weight() - a.weight() })
	for _, b := range blocks {
		if b.other {
			continue
		}
		if b.to != "" {
			m.files.link(path.Clean(b.file), b.to)
			add(&read, b.file)
			continue
		}
		body := strings.Join(b.lines, "\n")
		if strings.TrimSpace(body) == "" {
			continue
		}
		if strings.HasPrefix(body, "cat: ") || strings.Contains(body, ": command not found") {
			add(&unread, "a command that failed: "+collect.Shortened(body))
			continue
		}
		if b.file != "" && (b.part == nil || !path.IsAbs(b.part.name)) {
			m.files.file(m.disks.inDisk(path.Clean(b.file)), body)
			add(&read, b.file)
			continue
		}
		if len(b.command) > 1 && b.command[0] == "ethtool" && b.part == nil {
			m.printed[lab.ShellQuote(b.command)] = body
			add(&read, strings.Join(b.command, " "))
			continue
		}
		if i := slices.IndexFunc(all, func(p part) bool {
			return p.typed != "" && strings.HasPrefix(strings.Join(b.command, " ")+" ", p.typed+" ")
		}); i >= 0 && b.part == nil {
			b.part = &all[i]
		}
		m.now = b
		switch {
		case b.part == nil:
			add(&unread, notRecognised+collect.Shortened(strings.TrimSpace(body)))
		case b.part.read == nil:
			add(&unread, "this is the output of "+b.part.name+", which says nothing that a fact needs"+b.part.instead)
		case b.part.read(m, body):
			add(&read, b.part.name)
		case m.now.part == nil:
			add(&unread, notRecognised+collect.Shortened(strings.TrimSpace(body)))
		default:
			add(&unread, "this looks like "+m.now.part.name+", of which too little is there"+m.now.part.instead)
		}
	}
	return read, unread
}
