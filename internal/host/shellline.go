package host

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// How a command crosses to another host.
//
// ssh hands one string to the user's login shell there, whatever that is; it quotes in its own way, and what its
// start-up files print is mixed with the answer. So the string is always the same, and holds nothing that any of sh,
// csh or fish reads differently: no quote in the quotes, no backslash, no exclamation mark, no newline. It becomes a
// POSIX shell that reads one line from its standard input and carries it out. The line is of printable ASCII; other
// bytes of an argument are made by printf.
//
// A shell that is there already carries out the next command, too: somebody's start-up files can take a quarter of a
// second of the processor time of the machine that is measured.
//
// The answer stands between two lines that begin with a mark drawn for this call, on standard output and standard error
// alike; what was printed before and after belongs to others. The second line has the exit status, so that a command's
// 255 is not taken for ssh's own.

// FirstLine is what a shell there is started with: it reads one line and carries it out.
const FirstLine = `LC_ALL=C; export LC_ALL; IFS= read -r line && eval "$line"`

// loginShellCommand is the command line that the login shell is given.
const loginShellCommand = `exec /bin/sh -c '` + FirstLine + `'`

// loop is the first line: from then on each line is carried out.
const loop = searchPath + `while IFS= read -r line; do eval "$line"; done` + "\n"

// searchPath adds the folders that system tools live in: a plain user's path lacks them on Debian.
const searchPath = "PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin;export PATH;"

// commandLine is the line that has an argument vector carried out.
func commandLine(mark string, argv []string, input bool) string {
	var command strings.Builder
	other := map[byte]bool{}
	for _, a := range argv {
		command.WriteString(" " + quoted(a, other))
	}
	// Each byte that is not printable is made once, however often it occurs: a substitution takes a process, and an
	// emulated guest milliseconds. It takes newlines from the end, so something else stands there.
	var before strings.Builder
	for _, c := range slices.Sorted(maps.Keys(other)) {
		fmt.Fprintf(&before, `b%03o=$(printf '\%03o_');`, c, c)
	}
	from := ""
	if !input {
		from = " </dev/null"
	}
	// env finds the program as exec does: no function, no builtin of the shell. A program that can't be started is told
	// by env.
	return "m=" + mark + `;printf '\n%s %s\n' $m $$;printf '\n%s\n' $m >&2;` + before.String() +
		"env --" + command.String() + from + `;r=$?;printf '\n%s %s\n' $m $r;printf '\n%s\n' $m >&2` + "\n"
}

// quoted is an argument as a POSIX shell takes it, of printable characters: for other bytes it has variables, and notes
// which.
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

// cutMark cuts behind the line that begins with the mark, and returns what else is on it.
func cutMark(text []byte, mark string) (line string, rest []byte, ok bool) {
	_, rest, ok = bytes.Cut(text, []byte("\n"+mark))
	if !ok {
		return "", nil, false
	}
	first, rest, ok := bytes.Cut(rest, []byte("\n"))
	return strings.TrimSpace(string(first)), rest, ok
}
