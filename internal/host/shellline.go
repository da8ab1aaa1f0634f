package host

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// How a command is sent to another host.
//
// ssh passes one string to the user's login shell on the host. That shell can be any program: it has its own quoting,
// and the output of its start-up files is mixed with the answer. So the string is always the same, and contains nothing
// that sh, csh and fish read differently: no quote within the quotes, no backslash, no exclamation mark, no newline. It
// starts a POSIX shell that reads one line from its standard input and runs it. The line is printable ASCII; printf
// makes other bytes of an argument.
//
// A running shell also runs the next command, because a user's start-up files can take a quarter of a second of
// processor time on the machine that is measured.
//
// The answer is between two lines that begin with a random mark of this call, on both standard output and standard
// error. Text before and after it is ignored. The second line has the exit status, so that a command's 255 is not
// mistaken for ssh's own.

// FirstLine is the script that a shell on the host is started with: it reads one line and runs it.
const FirstLine = `LC_ALL=C; export LC_ALL; IFS= read -r line && eval "$line"`

// loginShellCommand is the command line for the login shell.
const loginShellCommand = `exec /bin/sh -c '` + FirstLine + `'`

// loop is the first line: from then on each line is run.
const loop = searchPath + `while IFS= read -r line; do eval "$line"; done` + "\n"

// searchPath adds the folders of system tools, which a plain user's PATH lacks on Debian.
const searchPath = "PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin;export PATH;"

// commandLine returns the line that runs an argument vector.
func commandLine(mark string, argv []string, input bool) string {
	var command strings.Builder
	other := map[byte]bool{}
	for _, a := range argv {
		command.WriteString(" " + quoted(a, other))
	}
	// Each byte that is not printable is made once, however often it occurs: a substitution takes a process, and an
	// emulated guest takes milliseconds for one. A substitution removes newlines at its end, so a "_" follows the byte.
	var before strings.Builder
	for _, c := range slices.Sorted(maps.Keys(other)) {
		fmt.Fprintf(&before, `b%03o=$(printf '\%03o_');`, c, c)
	}
	from := ""
	if !input {
		from = " </dev/null"
	}
	// env finds the program as exec does: no function, no builtin of the shell. If a program can't be started, env
	// reports it.
	return "m=" + mark + `;printf '\n%s %s\n' $m $$;printf '\n%s\n' $m >&2;` + before.String() +
		"env --" + command.String() + from + `;r=$?;printf '\n%s %s\n' $m $r;printf '\n%s\n' $m >&2` + "\n"
}

// quoted quotes an argument for a POSIX shell in printable characters. It represents other bytes by variables, and adds
// them to other.
func quoted(a string, other map[byte]bool) string {
	var b strings.Builder
	b.WriteByte('\'')
	for i := range len(a) {
		switch c := a[i]; {
		case c == '\'':
			b.WriteString(`'\''`)
		case c < ' ' || c > '~':
			other[c] = true
			fmt.Fprintf(&b, `'"${b%03o%%_}"'`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// cutMark returns the rest of the line that begins with the mark, and the text after that line.
func cutMark(text []byte, mark string) (line string, rest []byte, ok bool) {
	_, rest, ok = bytes.Cut(text, []byte("\n"+mark))
	if !ok {
		return "", nil, false
	}
	first, rest, ok := bytes.Cut(rest, []byte("\n"))
	return strings.TrimSpace(string(first)), rest, ok
}

// SplitArguments splits a kernel command line at white space outside of double quotes, and reports whether every quote
// was closed. The words keep their quotes.
//
//	BOOT_IMAGE=/boot/vmlinuz-6.1.0-50-amd64 root=UUID=1f2e ro quiet dyndbg="file drivers/usb/* +p"
//	BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.8.5-301.fc40.x86_64 root=/dev/mapper/fedora-root ro "dyndbg=module nvme +p" rhgb quiet
//	initrd=\EFI\debian\initrd.img root=UUID=1f2e ro -- single
//
// Source: next_arg in the kernel's lib/cmdline.c.
func SplitArguments(text string) (words []string, closed bool) {
	word, quoted := "", false
	for _, c := range []byte(text) {
		if !quoted && (c == ' ' || c == '\t' || c == '\n') {
			if word != "" {
				words = append(words, word)
			}
			word = ""
			continue
		}
		if c == '"' {
			quoted = !quoted
		}
		word += string([]byte{c})
	}
	if word != "" {
		words = append(words, word)
	}
	return words, !quoted
}
