package facts

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"headroom/internal/lab"
)

// Redactor hides what names a host, a person's machine or a single drive: serial numbers, world-wide names, UUIDs, MAC
// and IP addresses, host names. Each becomes a short hash of itself, the same in every report, so that a reader still sees
// that two runs used the same drive. The hash hides; it does not withstand somebody who guesses names and tries them.
type Redactor struct {
	// secrets are values to hide wherever they stand, the longest first.
	secrets []string
}

// NewRedactor learns from facts what is to be hidden, in facts and in other text of the same run (paths, command lines).
func NewRedactor(facts []lab.Fact) Redactor {
	var r Redactor
	for _, f := range facts {
		// A short one would be found inside ordinary words.
		if secret(f.Key) && len(f.Value) >= 4 && f.Value != "localhost" && f.Value != none {
			r.secrets = append(r.secrets, f.Value)
		}
	}
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
	r.secrets = slices.Compact(r.secrets)
	return r
}

// secret says whether a fact's whole value names something.
func secret(key string) bool {
	switch key {
	case "host.name", "boot.id":
		return true
	}
	last := key[strings.LastIndexByte(key, '.')+1:]
	return last == "serial" || last == "wwid" || last == "uuid" || last == "mac"
}

// Patterns of names that can stand anywhere in a text. An IPv4 address must not follow a letter or a digit, and only
// values that hold addresses are searched for one, because version numbers look alike.
var (
	uuidPattern = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	macPattern  = regexp.MustCompile(`(?i)\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\b`)
	hexPattern  = regexp.MustCompile(`(?i)\b(0x|eui\.|nguid\.|naa\.|wwn-0x|t10\.)[0-9a-f]{16,32}\b`)
	cgroupID    = regexp.MustCompile(`\b[0-9a-f]{32,64}\b`)
	ipv4Pattern = regexp.MustCompile(`\b(\d{1,3}\.){3}\d{1,3}\b`)
)

// Text hides names in any text.
func (r Redactor) Text(s string) string {
	for _, secret := range r.secrets {
		if strings.Contains(s, secret) {
			s = strings.ReplaceAll(s, secret, hidden(secret))
		}
	}
	for _, p := range []*regexp.Regexp{uuidPattern, macPattern, hexPattern, cgroupID} {
		s = p.ReplaceAllStringFunc(s, hidden)
	}
	return s
}

// Fact hides names in a fact.
func (r Redactor) Fact(f lab.Fact) lab.Fact {
	if f.Unknown != "" {
		f.Unknown = r.Text(f.Unknown)
		return f
	}
	if strings.HasSuffix(f.Key, ".sha256") {
		return f // it names a build of a program, not a thing that somebody owns
	}
	if secret(f.Key) && f.Value != "" && f.Value != none {
		f.Value = hidden(f.Value)
		return f
	}
	switch f.Key {
	case "kernel.cmdline", "filesystem.options", "filesystem.super_options":
		f.Value = ipv4Pattern.ReplaceAllStringFunc(f.Value, hiddenAddress)
	case "filesystem.source":
		f.Value = hideServer(f.Value)
	}
	f.Value, f.Source = r.Text(f.Value), r.Text(f.Source)
	return f
}

// hideServer hides the server in the source of a network file system: "files.example:/export", "//files/share". A device
// ("/dev/sda") and a pool ("tank/data") have none.
func hideServer(source string) string {
	if rest, ok := strings.CutPrefix(source, "//"); ok {
		server, share, _ := strings.Cut(rest, "/")
		return "//" + hidden(server) + "/" + share
	}
	if server, export, ok := strings.Cut(source, ":/"); ok && !strings.Contains(server, "/") {
		return hidden(server) + ":/" + export
	}
	return source
}

// Redact hides names in all facts of a target; the facts given stay as they are.
func Redact(facts []lab.Fact) []lab.Fact {
	r := NewRedactor(facts)
	out := make([]lab.Fact, len(facts))
	for i, f := range facts {
		out[i] = r.Fact(f)
	}
	return out
}

// hidden is eight hexadecimal digits that stand for a name. The prefix keeps them from being looked up in tables of plain
// hashes.
func hidden(name string) string {
	sum := sha256.Sum256([]byte("headroom:" + name))
	return "hidden-" + hex.EncodeToString(sum[:4])
}

// hiddenAddress leaves the addresses that name nobody.
func hiddenAddress(address string) string {
	if address == "0.0.0.0" || strings.HasPrefix(address, "127.") || strings.HasPrefix(address, "255.") {
		return address
	}
	return hidden(address)
}
