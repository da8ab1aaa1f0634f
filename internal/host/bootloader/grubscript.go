package bootloader

import (
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// grubEntry is a menuentry of grub.cfg.
type grubEntry struct {
	// kernel is the path in the linux command: /boot/vmlinuz-6.1.0-50-amd64, ($root)/vmlinuz.
	kernel string
	// body are the lines between the braces.
	body []string
	// linux is the index in body of the line that loads the kernel.
	linux int
}

var linuxLine = prose.Pattern(`^(\s*)(linux|linux16|linuxefi)\s+(\S+)`)

// grubEntries finds the menu entries that load a kernel, also in submenus. It parses only the format of grub-mkconfig,
// where an opening brace ends its line and the closing brace is alone on its line; it is not a shell parser.
//
//	menuentry 'Debian GNU/Linux' --class debian --class gnu-linux $menuentry_id_option 'gnulinux-simple-1f2e' {
//		search --no-floppy --fs-uuid --set=root 1f2e
//		linux	/boot/vmlinuz-6.1.0-50-amd64 root=UUID=1f2e ro  quiet
func grubEntries(text string) []grubEntry {
	var entries []grubEntry
	var body []string
	depth := 0 // of braces inside a menuentry; 0 outside
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case depth == 0 && strings.HasPrefix(trimmed, "menuentry ") && strings.HasSuffix(trimmed, "{"):
			depth, body = 1, nil
			continue
		case depth == 0:
			continue
		case trimmed == "}":
			depth--
		case strings.HasSuffix(trimmed, "{"):
			depth++
		}
		if depth > 0 {
			body = append(body, line)
			continue
		}
		for i, l := range body {
			if m := linuxLine().FindStringSubmatch(l); m != nil {
				entries = append(entries, grubEntry{kernel: m[3], body: body, linux: i})
				break
			}
		}
	}
	return entries
}

// menuentry writes the entry again with other arguments. It needs no password: a prompt at the console would stop the
// machine.
func (e grubEntry) menuentry(id string, args []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "menuentry 'headroom: one boot with other arguments' --unrestricted --id %s {\n", grubQuote(id))
	for i, line := range e.body {
		if strings.TrimSpace(line) == "savedefault" {
			continue // would make the one-time entry the default
		}
		if i == e.linux {
			m := linuxLine().FindStringSubmatch(line)
			line = m[1] + m[2] + " " + m[3]
			for _, a := range args {
				line += " " + grubQuote(a)
			}
		}
		b.WriteString(line + "\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// fromLoaderEntry returns the menu entry that GRUB's blscfg command makes of a loader entry. Variables must be replaced
// here, unlike in blscfg, because an entry sees only exported variables.
func fromLoaderEntry(e loaderEntry, variables map[string]string, video bool) grubEntry {
	g := grubEntry{kernel: e.kernel()}
	if video {
		g.body = append(g.body, "\tload_video", "\tset gfxpayload=keep")
	}
	g.body = append(g.body, "\tinsmod gzio")
	g.linux = len(g.body)
	g.body = append(g.body, "\tlinux ($root)"+e.kernel())
	images := ""
	for _, line := range e.values("initrd") {
		for word := range strings.FieldsSeq(line) {
			if name, ok := strings.CutPrefix(word, "$"); ok {
				word = variables[strings.Trim(name, "{}")]
			}
			if word != "" {
				images += " ($root)" + word
			}
		}
	}
	if images != "" {
		g.body = append(g.body, "\tinitrd"+images)
	}
	return g
}

// grubQuote quotes a word of a GRUB script. Single quotes keep all characters, as in a POSIX shell.
func grubQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// grubUnsafe are the characters that GRUB prefixes with a backslash when it passes a word to the kernel, which does not
// remove the backslash. Source: grub_create_loader_cmdline in GRUB's grub-core/lib/cmdline.c.
const grubUnsafe = `\'"`

// grubWords returns the arguments as words of GRUB's linux command. GRUB itself quotes an argument with spaces, as a
// whole.
//
// An argument that the running kernel received with a backslash was written without it. fromGRUB are the arguments that
// came from GRUB.
func grubWords(c cmdline, fromGRUB cmdline) ([]string, error) {
	were := map[argument]bool{}
	for _, a := range append(fromGRUB.kernel, fromGRUB.init...) {
		were[a] = true
	}
	var words []string
	add := func(list []argument) error {
		for _, a := range list {
			word := a.text()
			if strings.ContainsAny(word, grubUnsafe) {
				plain := unescape(word)
				if !were[a] || escape(plain) != word {
					return fmt.Errorf("GRUB can't hand %s to a kernel unchanged: it puts a backslash before each of %s",
						word, grubUnsafe)
				}
				word = plain
			}
			words = append(words, word)
		}
		return nil
	}
	if err := add(c.kernel); err != nil {
		return nil, err
	}
	if len(c.init) == 0 {
		return words, nil
	}
	words = append(words, "--")
	err := add(c.init)
	return words, err
}

func escape(word string) string {
	var b strings.Builder
	for _, c := range []byte(word) {
		if strings.IndexByte(grubUnsafe, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

func unescape(word string) string {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] == '\\' && i+1 < len(word) && strings.IndexByte(grubUnsafe, word[i+1]) >= 0 {
			i++
		}
		b.WriteByte(word[i])
	}
	return b.String()
}

// grubVariables are the variables that grub.cfg and the environment block set to plain text. The block takes
// precedence.
//
//	set tuned_initrd=""
//	saved_entry=0f2e-6.8.5-301.fc40.x86_64
func grubVariables(cfg, environment string) map[string]string {
	variables := map[string]string{}
	for line := range strings.Lines(cfg) {
		if assigned, ok := strings.CutPrefix(strings.TrimSpace(line), "set "); ok {
			if name, value, ok := strings.Cut(assigned, "="); ok && !strings.Contains(value, "$") {
				variables[name] = strings.Trim(value, `"'`)
			}
		}
	}
	for name, value := range parseEnvironment(environment) {
		variables[name] = value
	}
	return variables
}

// parseEnvironment parses the output of grub-editenv list, or the block itself: 1024 bytes with a heading, padded with
// "#".
//
//	# GRUB Environment Block
//	saved_entry=gnulinux-simple-1f2e
//	next_entry=headroom-once
func parseEnvironment(text string) map[string]string {
	set := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			set[name] = value
		}
	}
	return set
}
