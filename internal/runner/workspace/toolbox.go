package workspace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/command"
)

// Toolbox has what it takes to find the commands of a run, and to run them as another user.
type Toolbox struct {
	// folders that a pattern stands for, the one with the highest version first.
	folders map[string][]string
	// root says that headroom runs as root; users are the numbers of users and groups.
	root  bool
	users map[string][2]string
}

// findTools prints the folders that patterns stand for, then the tools that are not there. $1 is how many patterns
// follow.
const findTools = `n=$1; shift
IFS=
while [ "$n" -gt 0 ]; do
	for folder in $1; do
		if [ -d "$folder" ]; then printf 'folder\t%s\t%s\n' "$1" "$folder"; PATH="$PATH:$folder"; fi
	done
	n=$((n - 1)); shift
done
for tool; do
	command -v "$tool" >/dev/null 2>&1 || printf 'missing\t%s\n' "$tool"
done`

// FindTools looks for all that the commands of some cells need. What is not there is an error that names the package
// that has it.
func FindTools(ctx context.Context, t host.Target, cells []lab.Cell) (Toolbox, error) {
	box := Toolbox{folders: map[string][]string{}, users: map[string][2]string{}}
	for _, c := range cells {
		if c.Command == nil {
			continue
		}
		if err := box.find(ctx, t, c); err != nil {
			return Toolbox{}, err
		}
		if err := box.findUser(ctx, t, c); err != nil {
			return Toolbox{}, err
		}
	}
	return box, nil
}

func (b *Toolbox) find(ctx context.Context, t host.Target, c lab.Cell) error {
	tools := command.Tools(*c.Command)
	names := slices.Sorted(maps.Keys(tools))
	argv := slices.Concat([]string{"sh", "-c", findTools, "sh", fmt.Sprint(len(c.Command.Path))}, c.Command.Path, names)
	out, err := t.Run(ctx, argv...)
	if err != nil {
		return err
	}
	for _, pattern := range c.Command.Path {
		b.folders[pattern] = nil
	}
	var missing, packages, hints []string
	for line := range strings.Lines(string(out.Stdout)) {
		switch fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); {
		case len(fields) == 3 && fields[0] == "folder":
			// the shell sorts them, the highest last
			b.folders[fields[1]] = slices.Insert(b.folders[fields[1]], 0, fields[2])
		case len(fields) == 2 && fields[0] == "missing":
			missing = append(missing, fields[1])
			if p := tools[fields[1]]; p != "" && !slices.Contains(packages, p) {
				packages = append(packages, p)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if len(packages) > 0 {
		hints = append(hints, "on Debian: apt-get install "+strings.Join(packages, " "))
	} else {
		hints = append(hints, "install what has it; on Debian, apt-file search bin/"+missing[0]+" names the package")
	}
	return &lab.Error{What: fmt.Sprintf("%s needs %s, which is not installed", c.Job, strings.Join(missing, ", ")),
		Target: host.RemoteName(t), Hints: hints}
}

// findUser finds out who commands run as.
func (b *Toolbox) findUser(ctx context.Context, t host.Target, c lab.Cell) error {
	user := c.Command.User
	if _, known := b.users[user]; known || user == "" {
		return nil
	}
	id := func(argv ...string) (string, error) {
		out, err := t.Run(ctx, argv...)
		if err != nil || out.ExitCode != 0 {
			return "", err
		}
		return strings.TrimSpace(string(out.Stdout)), nil
	}
	me, err := id("id", "-u")
	if b.root = me == "0"; err != nil || !b.root {
		return err
	}
	uid, err := id("id", "-u", "--", user)
	if err != nil {
		return err
	}
	gid, err := id("id", "-g", "--", user)
	if err != nil {
		return err
	}
	if uid == "" || gid == "" {
		return &lab.Error{What: fmt.Sprintf("%s does not run as root, and there is no user %s to run it as", c.Job,
			user),
			Hints: []string{"add one (adduser --system --group " + user + "), or run headroom as an ordinary user"}}
	}
	b.users[user] = [2]string{uid, gid}
	return nil
}

// CommandPrefix is what an argument vector stands behind to be run as a user; nothing where headroom is not root.
func (b Toolbox) CommandPrefix(user string) []string {
	ids, known := b.users[user]
	if !known {
		return nil
	}
	return []string{"setpriv", "--reuid=" + ids[0], "--regid=" + ids[1], "--clear-groups", "--"}
}

// Number returns the number of a user whom commands run as; of an empty name, the number of no user.
func (b Toolbox) Number(user string) (int, error) {
	if user == "" {
		return noUser, nil
	}
	return strconv.Atoi(b.users[user][0])
}

// Path is what is added to the PATH of a command.
func (b Toolbox) Path(c lab.Command) string {
	added := ""
	for _, pattern := range c.Path {
		for _, folder := range b.folders[pattern] {
			added += ":" + folder
		}
	}
	return added
}
