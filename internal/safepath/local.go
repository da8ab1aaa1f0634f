package safepath

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

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
