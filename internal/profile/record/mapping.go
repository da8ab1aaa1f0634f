package record

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// mapping is an executable part of a process's memory.
type mapping struct {
	start, end, offset uint64
	device             string
	inode              uint64
	path               string
}

// parseMaps parses the executable mappings of /proc/PID/maps: range, permissions, offset in the file, device, inode,
// path.
//
//	561a24853000-561a24858000 r-xp 00002000 fe:00 247026                     /usr/bin/cat
//	7f109cab0000-7f109cc06000 r-xp 00026000 fe:00 326269                     /usr/lib/x86_64-linux-gnu/libc.so.6
//	7ffd5a9f2000-7ffd5a9f4000 r-xp 00000000 00:00 0                          [vdso]
func parseMaps(r io.Reader) ([]mapping, error) {
	var all []mapping
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		m, executable, err := parseMapping(lines.Text())
		if err != nil {
			return nil, err
		}
		if executable {
			all = append(all, m)
		}
	}
	return all, lines.Err()
}

func parseMapping(line string) (m mapping, executable bool, err error) {
	fields := strings.Fields(line)
	if len(fields) < 5 {
		return m, false, fmt.Errorf("%.80q is no mapping of a process", line)
	}
	start, end, ok := strings.Cut(fields[0], "-")
	if !ok {
		return m, false, fmt.Errorf("the range in %.80q", line)
	}
	for _, n := range []struct {
		text string
		base int
		to   *uint64
	}{{start, 16, &m.start}, {end, 16, &m.end}, {fields[2], 16, &m.offset}, {fields[4], 10, &m.inode}} {
		if *n.to, err = strconv.ParseUint(n.text, n.base, 64); err != nil {
			return m, false, fmt.Errorf("%.80q: %w", line, err)
		}
	}
	m.device = fields[3]
	if len(fields) > 5 {
		m.path = line[strings.Index(line, " "+fields[5])+1:]
	}
	return m, len(fields[1]) > 2 && fields[1][2] == 'x', nil
}

// title is the prefix of the names of a mapping's functions: "fio", and for libraries the name without version, "libc",
// so that the names of two machines can be compared.
func (m mapping) title() string {
	switch {
	case m.path == "":
		return "anonymous"
	case strings.HasPrefix(m.path, "["):
		return strings.Trim(m.path, "[]")
	}
	name := path.Base(strings.TrimSuffix(m.path, " (deleted)"))
	if library, _, ok := strings.Cut(name, ".so"); ok && library != "" {
		name = libraryVersion().ReplaceAllString(library, "")
	}
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == ';' || r == ':' || r == 0x7f {
			return '_' // these separate names in formats of stacks
		}
		return r
	}, name)
}

// libraryVersion matches the version in libc-2.31.so.
var libraryVersion = prose.Pattern(`-[0-9.]+$`)
