// Package safepath checks whether other users of a machine can change what a path leads to, like sshd before it trusts
// a file of keys (StrictModes in sshd_config(5), safe_path in OpenSSH's misc.c).
//
// A program that runs as root and acts on the files that it reads (a journal of settings to restore, a list of folders
// to remove) does what the owner of those files wants. So they must belong to its own user or to root, and so must
// every folder on the way to them, and no other user may be able to write to any of those. The package also determines
// which of these files a living process uses, and which were left behind.
package safepath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// System examines the files of one machine.
type System interface {
	// Lstat describes a file; of a symbolic link, the link itself.
	Lstat(name string) (Info, error)
	// Readlink returns where a symbolic link leads.
	Readlink(name string) (string, error)
	// PrivateGroup reports whether a group has no member but this user, like the groups that distributions create for
	// each user, and clusters for a container's user.
	PrivateGroup(group, user int) bool
}

// Info is the security-relevant information about a file.
type Info struct {
	Owner, Group int
	// Mode includes the kind of file and the sticky bit.
	Mode fs.FileMode
}

// Unsafe is the error of a path that others can change.
type Unsafe struct {
	// Name is the folder, file or link at fault: the path itself or one on the way to it.
	Name string
	// Why completes a sentence that begins with the name: "belongs to user 1000".
	Why string
	// Remedy is the command that fixes the fault, if there is one: "chmod go-w NAME".
	Remedy []string
}

func (u *Unsafe) Error() string { return u.Name + " " + u.Why }

// Check returns an Unsafe error if any user other than root and this one can change the file or folder at an absolute
// path, or what the path leads to. Symbolic links are followed, and each is checked. A missing file is safe if the
// folder that would contain it is.
func Check(s System, name string, user int) error { return walk(s, name, user, false) }

// CheckFolder is Check for a folder in which the user creates files: it can also be one like /tmp, where every user can
// write but can't rename or remove files of others (sticky). A name there can already be taken: create the file with
// O_EXCL.
func CheckFolder(s System, name string, user int) error { return walk(s, name, user, true) }

// maxLinks is the kernel's limit (MAXSYMLINKS).
const maxLinks = 40

func walk(s System, name string, user int, shared bool) error {
	if !path.IsAbs(name) {
		return fmt.Errorf("%s is not an absolute path", name)
	}
	at, rest := "/", strings.Split(name, "/")
	if err := check(s, at, user, true); err != nil {
		return err
	}
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		info, err := s.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			return check(s, at, user, shared) // files created here must be safe from removal
		}
		if err != nil {
			return err
		}
		if info.Mode&fs.ModeSymlink == 0 {
			last := strings.Trim(strings.Join(rest, ""), ".") == ""
			if err := fault(s, next, info, user, shared || !last); err != nil {
				return err
			}
			at = next
			continue
		}
		// A user who can write to a link's folder can replace it; in a sticky one, the owner of the link can.
		if info.Owner != 0 && info.Owner != user {
			return &Unsafe{Name: next, Why: fmt.Sprintf("is a link of user %d", info.Owner)}
		}
		if links++; links > maxLinks {
			return fmt.Errorf("%s: too many symbolic links", name)
		}
		to, err := s.Readlink(next)
		if err != nil {
			return err
		}
		if path.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return check(s, at, user, shared)
}

func check(s System, name string, user int, shared bool) error {
	info, err := s.Lstat(name)
	if err != nil {
		return err
	}
	return fault(s, name, info, user, shared)
}

// fault returns what is wrong with one file or folder. In a shared folder every user can create files, but not replace
// others'.
func fault(s System, name string, info Info, user int, shared bool) error {
	if info.Owner != 0 && info.Owner != user {
		return &Unsafe{name, fmt.Sprintf("belongs to user %d", info.Owner), []string{"chown", strconv.Itoa(user), name}}
	}
	if shared && info.Mode.IsDir() && info.Mode&fs.ModeSticky != 0 {
		return nil
	}
	const group, others = 0o020, 0o002
	if info.Mode&others != 0 {
		return &Unsafe{name, "can be written to by everybody", []string{"chmod", "go-w", name}}
	}
	// For a file with an access control list these bits are its mask: they are set if the list allows anyone to write
	// (acl(5)).
	if info.Mode&group != 0 && !s.PrivateGroup(info.Group, info.Owner) &&
		(info.Owner == user || !s.PrivateGroup(info.Group, user)) {
		return &Unsafe{name, fmt.Sprintf("can be written to by group %d", info.Group), []string{"chmod", "g-w", name}}
	}
	return nil
}

// Local is this machine.
type Local struct{}

// Lstat describes a file of this machine.
func (Local) Lstat(name string) (Info, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	return InfoOf(info), nil
}

// InfoOf extracts the information about a file, or an open file.
func InfoOf(info fs.FileInfo) Info {
	stat := info.Sys().(*syscall.Stat_t) // always true on Linux
	return Info{Owner: int(stat.Uid), Group: int(stat.Gid), Mode: info.Mode()}
}

// Readlink returns where a symbolic link of this machine leads.
func (Local) Readlink(name string) (string, error) { return os.Readlink(name) }

// PrivateGroup reads /etc/passwd and /etc/group. A group or user that is stored elsewhere (LDAP) is not known to be
// private.
func (Local) PrivateGroup(group, user int) bool {
	users, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return false
	}
	groups, err := os.ReadFile("/etc/group")
	return err == nil && PrivateGroup(string(users), string(groups), group, user)
}

// PrivateGroup reports whether a group is the primary group of this user, and has no other member. If the files name
// neither, the group with the same number as the user is private: so are the users and groups of containers (runAsUser,
// fsGroup). The files are in the format of passwd(5) and group(5):
//
//	anna:x:1000:1000:Anna,,,:/home/anna:/bin/bash
//	games:x:5:60:games:/usr/games:/usr/sbin/nologin
//
//	anna:x:1000:
//	disk:x:6:backup,anna
func PrivateGroup(users, groups string, group, user int) bool {
	mine, name, unnamed := false, "", group == user
	for line := range strings.Lines(users) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) < 4 {
			continue
		}
		unnamed = unnamed && fields[2] != strconv.Itoa(user)
		if fields[3] != strconv.Itoa(group) {
			continue
		}
		if fields[2] != strconv.Itoa(user) {
			return false
		}
		mine, name = true, fields[0]
	}
	known := false
	for line := range strings.Lines(groups) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) < 4 || fields[2] != strconv.Itoa(group) {
			continue
		}
		if fields[3] != "" && fields[3] != name {
			return false
		}
		known = true
	}
	return mine && known || unnamed && !mine && !known
}
