package journal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// A lock has a name for each setting, and is a symbolic link: a link is made atomically, complete, and only if there is
// none. It points to the holder:
//
//	/run/headroom/settings/5b0f… -> {"id":"7KQ4M2X9TD","command":"headroom ablate quick /srv …","started":"2026-11-28T10:02:11Z","host":"db1","process":4711,"journal":"/root/.local/share/headroom/changes/7KQ4M2X9TD.jsonl"}
//
// They are in memory, so that none outlives a boot. The locks of root are in /run/headroom/settings. Each other user
// has a folder in /dev/shm, and so has root where /run is read-only. All users respect all locks.

// takeScript makes locks. It prints the locks that it made, and all existing locks of these names. Its arguments are
// the holder and the names.
const takeScript = `umask 022
u=$(id -u) || exit
make() { # another run may be removing it
	for i in 1 2 3 4 5 6 7 8 9; do
		mkdir -p "$1" 2>/dev/null && return
	done
	mkdir -p "$1"
}
d=/run/headroom/settings
[ "$u" = 0 ] && make "$d" 2>/dev/null && [ -w "$d" ] || d=/dev/shm/headroom-settings-$u
make "$d" || exit
holder=$1
shift
for name; do
	ln -s -n "$holder" "$d/$name" 2>/dev/null && echo "made $d/$name"
done
for name; do
	for f in /run/headroom/settings/"$name" /dev/shm/headroom-settings-*/"$name"; do
		if to=$(readlink "$f" 2>/dev/null); then echo "lock $f $to"; fi # else another run has removed it
	done
done`

// releaseScript removes the locks of one holder, which begins with its argument.
const releaseScript = `u=$(id -u) || exit
for f in /run/headroom/settings/* /dev/shm/headroom-settings-"$u"/*; do
	if [ -L "$f" ]; then
		case $(readlink "$f") in "$1"*) rm -f "$f" || exit ;; esac
	fi
done
rmdir /run/headroom/settings /run/headroom /dev/shm/headroom-settings-"$u" 2>/dev/null
exit 0`

// lock is an existing lock.
type lock struct {
	path   string
	holder Holder
}

// take makes locks. It returns the paths of the new locks, and all existing locks of these names.
func (l *locker) take(ctx context.Context, names []string) (made []string, locks []lock, err error) {
	out, err := l.at.Run(ctx, append([]string{"sh", "-c", takeScript, l.writer.mark, l.holder.text()}, names...)...)
	if err != nil {
		return nil, nil, err
	}
	if out.ExitCode != 0 {
		return nil, nil, &lab.Error{What: "settings can't be locked against other runs",
			Target: host.RemoteName(l.at), Output: strings.TrimSpace(string(out.Stderr))}
	}
	made, locks = parseLocks(string(out.Stdout))
	return made, locks, nil
}

// parseLocks reads what takeScript prints:
//
//	made /run/headroom/settings/5b0f…
//	lock /run/headroom/settings/5b0f… {"id":"7KQ4M2X9TD","command":"headroom ablate quick /srv …",…}
//	lock /dev/shm/headroom-settings-1000/5b0f… {"id":"19PPM2X9TD",…}
//
// Another program may have made a lock: if the holder can't be parsed, only the path is known.
func parseLocks(text string) (made []string, locks []lock) {
	for line := range strings.Lines(text) {
		verb, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch verb {
		case "made":
			made = append(made, rest)
		case "lock":
			path, holder, _ := strings.Cut(rest, " ")
			l := lock{path: path}
			_ = json.Unmarshal([]byte(holder), &l.holder)
			locks = append(locks, l)
		}
	}
	return made, locks
}

// remove removes locks that were just made.
func (l *locker) remove(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	out, err := l.at.Run(context.WithoutCancel(ctx), append([]string{"rm", "-f"}, paths...)...)
	if err == nil && out.ExitCode != 0 {
		err = fmt.Errorf("rm: %s", strings.TrimSpace(string(out.Stderr)))
	}
	return err
}

// release removes the locks of the journal.
func (l *locker) release() error {
	if len(l.locked) == 0 && !l.unsure {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	if err := l.writer.settle(ctx); err != nil { // a command that locks may be about to
		return err
	}
	l.writer.atStep("unlock settings")
	prefix, _, _ := strings.Cut(l.holder.text(), ",")
	out, err := l.at.Run(ctx, "sh", "-c", releaseScript, l.writer.mark, prefix+",")
	if err != nil || out.ExitCode != 0 {
		return &lab.Error{What: "the settings are restored, but stay locked against other runs",
			Target: host.RemoteName(l.at), Output: strings.TrimSpace(string(out.Stderr)), Err: err,
			Hints: []string{"when it can be reached: headroom restore"}}
	}
	clear(l.locked)
	return nil
}

// maxCommand is how much of a command a lock tells: a link points to 4,095 bytes at most.
const maxCommand = 1000

func shortened(command string) string {
	command = strings.ToValidUTF8(command, "")
	if len(command) > maxCommand {
		command = strings.ToValidUTF8(command[:maxCommand], "") + "…"
	}
	return command
}

// text is what a lock of the holder points to.
func (h Holder) text() string {
	text, _ := json.Marshal(h)
	return string(text)
}

// names returns the names of the locks of spots: what is one thing to the kernel has one name.
func (l *locker) names(ctx context.Context, spots []spot.Spot) ([]string, error) {
	files, err := l.writer.target.ReadFiles(ctx, host.BootIDFile)
	if err != nil {
		return nil, err
	}
	boot := strings.TrimSpace(string(files[host.BootIDFile].Data))
	real, err := l.realPaths(ctx, spots)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(spots))
	for i, s := range spots {
		of := []string{boot, s.Kind, s.Path, s.Name}
		switch {
		case s.Kind == spot.InAdapter, s.Kind == spot.InDiscipline, strings.HasPrefix(s.Path, "/proc/sys/net/"):
			of, err = l.withNamespace(ctx, of, "net")
		case s.Kind == spot.InMount, s.Kind == spot.InNFS, s.Kind == spot.InFolder:
			of, err = l.withNamespace(ctx, of, "mnt")
		case s.Kind == spot.InFile:
			if of[2] = cmp.Or(real[s.Path], s.Path); adapterFile().MatchString(of[2]) {
				of, err = l.withNamespace(ctx, of, "net")
			}
		case s.Kind == spot.ByCommands:
			var commands []byte
			commands, err = json.Marshal(s.Commands)
			of = append(of, string(commands))
		}
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
		names[i] = hex.EncodeToString(sum[:16])
	}
	return names, nil
}

// adapterFile matches files of network adapters in /sys. Each network namespace has separate adapters, so the same path
// can mean another adapter:
//
//	/sys/class/net/eth0/mtu
//	/sys/devices/virtual/net/eth0/mtu
//	/sys/devices/pci0000:00/0000:00:03.0/virtio0/net/eth0/queues/rx-0/rps_cpus
var adapterFile = prose.Pattern(`^/sys/(class|devices/.+)/net/[^/]+/`)

// withNamespace adds the number of a namespace that the target's processes are in, which other processes on the machine
// need not be; nothing where it can't be read.
func (l *locker) withNamespace(ctx context.Context, of []string, kind string) ([]string, error) {
	number, known := l.namespaces[kind]
	if !known {
		out, err := l.writer.run(ctx, "stat", "-L", "-c", "%i", "/proc/self/ns/"+kind)
		if err != nil {
			return nil, err
		}
		if out.ExitCode == 0 {
			number = strings.TrimSpace(string(out.Stdout))
		}
		l.namespaces[kind] = number
	}
	return append(of, number), nil
}

// realPaths are the paths of files of /sys without links: /sys/class/block/sda is /sys/block/sda.
func (l *locker) realPaths(ctx context.Context, spots []spot.Spot) (map[string]string, error) {
	var paths []string
	for _, s := range spots {
		if s.Kind == spot.InFile && strings.HasPrefix(s.Path, "/sys/") {
			paths = append(paths, s.Path)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := l.writer.run(ctx, append([]string{"realpath"}, paths...)...)
	if err != nil {
		return nil, err
	}
	real := map[string]string{}
	lines := strings.Split(strings.TrimSuffix(string(out.Stdout), "\n"), "\n")
	if out.ExitCode != 0 || len(lines) != len(paths) {
		return nil, nil // without the program, or a file: each path is its own name
	}
	for i, p := range paths {
		real[p] = lines[i]
	}
	return real, nil
}
