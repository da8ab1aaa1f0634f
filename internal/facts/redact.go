package facts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// Redactor hides values that identify a host, a person's machine or a single drive: serial numbers, world-wide names,
// UUIDs, MAC and IP addresses, host names. Each is replaced by a short hash, which is the same in every report, so that
// a reader can still see that two runs used the same drive. The hash is no protection against guessing names and trying
// them.
type Redactor struct {
	// secrets are values to hide wherever they occur, the longest first.
	secrets []string
	// guests are names of virtual machines, which occur in About and may be too short to search for anywhere else.
	guests map[string]bool
	// targets hides the addresses of targets, which no fact needs to contain.
	targets bool
	index   catalogue.Index
}

// NewRedactor collects the values to hide from facts. The Redactor hides them in facts and in other text of the same
// run (paths, command lines).
func NewRedactor(facts []lab.Fact) Redactor {
	r := Redactor{guests: map[string]bool{}, targets: true, index: catalogue.NewIndex()}
	learn := func(values ...string) {
		for _, v := range values {
			// A short value would be found inside ordinary words.
			if len(v) >= 4 && v != "localhost" && v != catalogue.None {
				r.secrets = append(r.secrets, v)
			}
		}
	}
	for _, f := range facts {
		if !r.index.Secret(f.Key) {
			continue
		}
		learn(f.Value)
		for _, word := range catalogue.ParseList(f.Value) {
			learn(word, bareAddress(word))
		}
		if f.Key == "host.name" || f.Key == "cluster.node" {
			// The first part of a full name occurs alone in other places: volume groups, boot arguments.
			short, _, _ := strings.Cut(f.Value, ".")
			learn(short)
		}
		if f.Key == "guest.name" {
			learn(f.About)
			r.guests[f.About] = true
		}
	}
	slices.SortFunc(r.secrets, func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b)) // equal ones are adjacent
	})
	r.secrets = slices.Compact(r.secrets)
	return r
}

// WithTargets keeps the addresses of targets, for the user who named them.
func (r Redactor) WithTargets() Redactor {
	r.targets = false
	return r
}

// bareAddress returns the IP address in "192.0.2.1/24", "192.0.2.1:3260" and "[2001:db8::1]:3260"; other text is
// returned unchanged.
func bareAddress(text string) string {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Addr().String()
	}
	if p, err := netip.ParseAddrPort(text); err == nil {
		return p.Addr().String()
	}
	return text
}

// Patterns of names that can occur anywhere in a text. An InfiniBand adapter has a hardware address of 8 or 20 bytes.
// An IPv4 address must not follow a letter or a digit, and only values that contain addresses are searched for one,
// because version numbers look alike. Some network interfaces are named after their MAC address: enx0123456789ab
// (systemd.net-naming-scheme(7)).
var (
	uuidPattern = prose.Pattern(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	macPattern  = prose.Pattern(`(?i)\b[0-9a-f]{2}(:[0-9a-f]{2}){5,19}\b`)
	hexPattern  = prose.Pattern(`(?i)\b(smmu3\.0x|0x|eui\.|nguid\.|naa\.|wwn-0x|t10\.)[0-9a-f]{16,32}\b`)
	macName     = prose.Pattern(`\b(en|ib|wl|ww|sl)x[0-9a-f]{12}`)
	cgroupID    = prose.Pattern(`\b[0-9a-f]{32,64}\b`)
	ipv4Pattern = prose.Pattern(`\b(\d{1,3}\.){3}\d{1,3}\b`)
	// A boot server passes the MAC address with dashes, after the type of hardware: BOOTIF=01-02-00-5e-10-00-01.
	bootMAC = prose.Pattern(`(?i)\bBOOTIF=([0-9a-f]{2}-){6,20}[0-9a-f]{2}\b`)
	// Folders that belong to one person. Source: hier(7); udisks mounts below the other two.
	homePattern = prose.Pattern(`(/home/|/run/media/|/media/)([^/\s,:;"'\\()\[\]{}]+)`)
	// Users in mount options: mount.cifs(8), mount.ceph(8), and uname of the kernel's 9p.
	userOption = prose.Pattern(`\b(username|user|uname|domain|name)=([^,\s]+)`)
	// Boot arguments of a root on a network: dracut.cmdline(7), mount.cifs(8).
	loginArgument = prose.Pattern(
		`(?i)\b([a-z0-9._-]*(password|passwd|secret|token|username|initiator))=([^,\s]+)`)
	// netroot=iscsi:USER:PASSWORD@SERVER:...
	loginInRoot = prose.Pattern(`\biscsi:[^@\s]+@`)
	// Names of iSCSI (RFC 3720) and of NVMe subsystems and hosts.
	qualifiedName = prose.Pattern(`\b[in]qn\.[0-9]{4}-[0-9]{2}\.[^\s,;"'\\]+`)
	// The address of a target: a user, a host, a port.
	authorityPattern = prose.Pattern(`\b((?:ssh|talos)://(?:[^\s@/"'<>]+@)?)(\[[0-9A-Fa-f:]+\]|[^\s@:/?"'<>,;)]+)`)
	// A possible IPv6 address, with all characters that could belong to it.
	colonWord = prose.Pattern(`[0-9A-Za-z]*:[0-9A-Za-z:.]*`)
)

// Text hides names in any text.
func (r Redactor) Text(s string) string {
	for _, secret := range r.secrets {
		s = hideWord(s, secret)
	}
	if r.targets && strings.Contains(s, "://") {
		s = authorityPattern().ReplaceAllStringFunc(s, hiddenHost)
	}
	// Most texts lack a character that a pattern needs. Testing for it is faster than the pattern.
	digits, colons, dashes := longestHex(s), strings.Count(s, ":"), strings.Count(s, "-")
	for _, p := range []struct {
		pattern  *regexp.Regexp
		possible bool
	}{
		{qualifiedName(), strings.Contains(s, "qn.")}, {uuidPattern(), digits >= 12 && dashes >= 4},
		{macPattern(), colons >= 5}, {macName(), digits >= 12}, {hexPattern(), digits >= 16},
		{cgroupID(), digits >= 32},
	} {
		if p.possible {
			s = p.pattern.ReplaceAllStringFunc(s, hiddenNumber)
		}
	}
	if strings.Contains(s, "/home/") || strings.Contains(s, "/media/") {
		s = homePattern().ReplaceAllStringFunc(s, hiddenFolder)
	}
	if dashes >= 6 {
		s = bootMAC().ReplaceAllStringFunc(s, hiddenValue)
	}
	if strings.Count(s, ":") < 2 {
		return s
	}
	return colonWord().ReplaceAllStringFunc(s, hiddenIPv6)
}

// hiddenNumber keeps the name of an SMMU, which is the address of its registers: the same in all machines of a kind.
func hiddenNumber(s string) string {
	if strings.HasPrefix(s, "smmu3.") {
		return s
	}
	return hidden(s)
}

// longestHex returns the length of the longest sequence of hexadecimal digits.
func longestHex(s string) int {
	longest, n := 0, 0
	for i := range len(s) {
		c := s[i] | 0x20
		if c >= 'a' && c <= 'f' || s[i] >= '0' && s[i] <= '9' {
			n++
			longest = max(longest, n)
		} else {
			n = 0
		}
	}
	return longest
}

// hiddenFolder hides the last part of a path, unless it is hidden already.
func hiddenFolder(path string) string {
	at := strings.LastIndexByte(path, '/') + 1
	if strings.HasPrefix(path[at:], hiddenPrefix) {
		return path
	}
	return path[:at] + hidden(path[at:])
}

// hideWord hides a name where it is a whole word: a host called "client" is not hidden in "clientaddr=", a serial
// number is in "nvme-MODEL_SERIAL-part1".
func hideWord(s, name string) string {
	if !strings.Contains(s, name) {
		return s // like nearly all of tens of thousands of texts
	}
	var b strings.Builder
	for done := 0; ; {
		i := strings.Index(s[done:], name)
		if i < 0 {
			b.WriteString(s[done:])
			return b.String()
		}
		start, end := done+i, done+i+len(name)
		b.WriteString(s[done:start])
		if alphanumeric(s, start-1) || alphanumeric(s, end) {
			b.WriteString(name)
		} else {
			b.WriteString(hidden(name))
		}
		done = end
	}
}

// alphanumeric reports whether there is a letter or a digit at an index of a text.
func alphanumeric(s string, i int) bool {
	if i < 0 || i >= len(s) {
		return false
	}
	c := s[i] | 0x20
	return c >= 'a' && c <= 'z' || s[i] >= '0' && s[i] <= '9'
}

// Fact hides names in a fact.
func (r Redactor) Fact(f lab.Fact) lab.Fact {
	f.About, f.Source = r.about(f), r.Text(f.Source)
	if f.Unknown != "" {
		f.Unknown = r.Text(f.Unknown)
		return f
	}
	if strings.HasSuffix(f.Key, ".sha256") {
		return f // it identifies a build of a program, not an object that belongs to a person
	}
	if r.index.Secret(f.Key) && f.Value != "" && f.Value != catalogue.None {
		f.Value = hidden(f.Value)
		return f
	}
	switch f.Key {
	case "filesystem.options", "filesystem.super_options", "mount.options":
		f.Value = userOption().ReplaceAllStringFunc(f.Value, hiddenValue)
		f.Value = ipv4Pattern().ReplaceAllStringFunc(f.Value, hiddenAddress)
	case "kernel.cmdline":
		f.Value = loginArgument().ReplaceAllStringFunc(f.Value, hiddenValue)
		f.Value = loginInRoot().ReplaceAllStringFunc(f.Value, func(login string) string {
			if login = strings.TrimSuffix(strings.TrimPrefix(login, "iscsi:"), "@"); !strings.HasPrefix(login,
				hiddenPrefix) {
				login = hidden(login)
			}
			return "iscsi:" + login + "@"
		})
		f.Value = ipv4Pattern().ReplaceAllStringFunc(f.Value, hiddenAddress)
	case "filesystem.source", "mount.source":
		f.Value = hideServer(f.Value)
	}
	if strings.HasPrefix(f.Key, "module.") { // netconsole's parameter contains both ends
		f.Value = ipv4Pattern().ReplaceAllStringFunc(f.Value, hiddenAddress)
	}
	f.Value = r.Text(f.Value)
	return f
}

// about hides names in the About of a fact.
func (r Redactor) about(f lab.Fact) string {
	guest, drive, isDrive := strings.Cut(f.About, "/")
	if class := catalogue.ClassOf(f.Key); class == "drive" && isDrive && r.guests[guest] {
		return hidden(guest) + "/" + r.Text(drive)
	} else if class == "guest" && r.guests[f.About] {
		return hidden(f.About)
	}
	return r.Text(f.About)
}

// hideServer hides the server in the source of a network file system: "files.example:/export", "//files/share",
// "me@files.example:" (sshfs), "me@0b1f….fs=/" (Ceph). A device ("/dev/sda") and a pool ("tank/data") have none.
func hideServer(source string) string {
	if rest, ok := strings.CutPrefix(source, "//"); ok {
		server, share, _ := strings.Cut(rest, "/")
		return "//" + hidden(server) + "/" + share
	}
	if server, export, ok := strings.Cut(source, ":/"); ok && !strings.Contains(server, "/") {
		return hidden(strings.Trim(server, "[]")) + ":/" + export
	}
	if server, export, ok := strings.Cut(source, ":"); ok && server != "" && !strings.Contains(server, "/") {
		return hidden(server) + ":" + export
	}
	if user, rest, ok := strings.Cut(source, "@"); ok && user != "" && !strings.Contains(user, "/") {
		return hidden(user) + "@" + rest
	}
	return source
}

// Redact hides names in all facts of a target. It does not modify its argument.
func Redact(facts []lab.Fact) []lab.Fact {
	r := NewRedactor(facts)
	out := make([]lab.Fact, len(facts))
	for i, f := range facts {
		out[i] = r.Fact(f)
	}
	return out
}

// Redacted returns the snapshot without names. It does not modify its receiver.
func (d Document) Redacted() Document {
	d.Target, d.Facts = NewRedactor(d.Facts).Text(d.Target), Redact(d.Facts)
	return d
}

// hiddenPrefix is the prefix of each replacement.
const hiddenPrefix = "hidden-"

// hidden returns the replacement of a name, eight hexadecimal digits. The hashed prefix prevents looking them up in
// tables of plain hashes.
func hidden(name string) string {
	sum := sha256.Sum256([]byte("headroom:" + name))
	return hiddenPrefix + hex.EncodeToString(sum[:4])
}

// hiddenValue hides the value after the equals sign, unless it is hidden already.
func hiddenValue(setting string) string {
	name, value, _ := strings.Cut(setting, "=")
	if strings.HasPrefix(value, hiddenPrefix) {
		return setting
	}
	return name + "=" + hidden(value)
}

// hiddenHost hides the host of a target, unless it is hidden already, and a user who is not root.
func hiddenHost(name string) string {
	at := strings.Index(name, "://") + len("://")
	user, host, found := strings.Cut(name[at:], "@")
	if !found {
		user, host = "", user
	} else if user != "root" && !strings.HasPrefix(user, hiddenPrefix) {
		user = hidden(user)
	}
	if !strings.HasPrefix(host, hiddenPrefix) {
		host = hidden(strings.Trim(host, "[]"))
	}
	if found {
		user += "@"
	}
	return name[:at] + user + host
}

// hiddenAddress keeps the addresses that identify no machine.
func hiddenAddress(address string) string {
	if address == "0.0.0.0" || strings.HasPrefix(address, "127.") || strings.HasPrefix(address, "255.") {
		return address
	}
	return hidden(address)
}

// hiddenIPv6 hides a word that is an IPv6 address. Words like "0000:41:00.0" and "12:30:59" are not.
func hiddenIPv6(word string) string {
	text := strings.TrimRight(word, ".")
	a, err := netip.ParseAddr(text)
	if err != nil {
		text = strings.TrimRight(text, ":")
		a, err = netip.ParseAddr(text)
	}
	if err != nil || !a.Is6() || a.IsLoopback() || a.IsUnspecified() {
		return word
	}
	return hidden(text) + word[len(text):]
}
