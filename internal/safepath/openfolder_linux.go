package safepath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// OpenFolder opens a folder. It follows links on the way, but if the user is root, not those that belong to another
// user, who could have created them a moment ago.
func OpenFolder(name string) (*Folder, error) {
	held, err := find(name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(held)
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", held))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	return &Folder{root}, nil
}

// find opens a folder one part of its path after the other, so that the part that was checked is the one that is
// opened.
func find(name string) (int, error) {
	const folder = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	start := "."
	if strings.HasPrefix(name, "/") {
		start = "/"
	}
	fail := func(err error) (int, error) { return -1, &fs.PathError{Op: "open", Path: name, Err: err} }
	at, err := unix.Open(start, folder, 0)
	if err != nil {
		return fail(err)
	}
	rest, links := strings.Split(name, "/"), 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		if part == "" || part == "." {
			continue
		}
		next, err := unix.Openat(at, part, folder|unix.O_NOFOLLOW, 0)
		if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
			var to string
			if to, err = readLink(at, part); err == nil {
				rest = append(strings.Split(to, "/"), rest...)
				switch links++; {
				case links > maxLinks:
					err = unix.ELOOP
				case strings.HasPrefix(to, "/"):
					next, err = unix.Open("/", folder, 0)
				default:
					continue
				}
			}
		}
		unix.Close(at)
		if err != nil {
			return fail(err)
		}
		at = next
	}
	return at, nil
}

// readLink reads a link that it has checked: both by one descriptor.
func readLink(at int, part string) (string, error) {
	link, err := unix.Openat(at, part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(link)
	var info unix.Stat_t
	if err := unix.Fstat(link, &info); err != nil {
		return "", err
	}
	if info.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", unix.ENOTDIR
	}
	if os.Geteuid() == 0 && info.Uid != 0 {
		return "", &Unsafe{Name: part, Why: fmt.Sprintf("is a link of user %d", info.Uid)}
	}
	to := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(link, "", to)
	if err != nil {
		return "", err
	}
	return string(to[:n]), nil
}
