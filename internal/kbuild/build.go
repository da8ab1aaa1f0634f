package kbuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/kconfig"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/safepath"
)

// Kernel is a built kernel.
type Kernel struct {
	// Image is the path of its file.
	Image string
	// Release is its release (uname -r); no two kernels of a tree have the same.
	Release string
}

// Unbuilt is the error of a configuration that can't be built.
type Unbuilt struct {
	// Config is the hash of the configuration.
	Config string
	// Reason is how make ended, with the last lines of its output.
	Reason string
}

func (e *Unbuilt) Error() string {
	return fmt.Sprintf("kernel %s can't be built: %s", e.Config, e.Reason)
}

// Hash returns the hash of a kernel, which is the name of its folder.
func (t *Tree) Hash(config kconfig.Config) string {
	texts := []string{t.identity}
	for _, option := range slices.Sorted(maps.Keys(config)) {
		texts = append(texts, option, config[option])
	}
	return digest(texts...)[:12]
}

// Has reports whether a kernel is built.
func (t *Tree) Has(config kconfig.Config) bool { return exists(filepath.Join(t.Out, t.Hash(config))) }

const (
	releaseFile = "release"
	configFile  = "config"
)

// find returns a kernel that was built.
func (t *Tree) find(hash string) (Kernel, bool, error) {
	folder := filepath.Join(t.Out, hash)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return Kernel{}, false, nil
	}
	var k Kernel
	for _, e := range entries {
		switch path := filepath.Join(folder, e.Name()); e.Name() {
		case configFile:
		case releaseFile:
			var text []byte
			text, err = os.ReadFile(path)
			k.Release = strings.TrimSpace(string(text))
		default:
			k.Image = path
		}
	}
	if err == nil && (k.Image == "" || k.Release == "") {
		err = &lab.Error{What: folder + " lacks files of the kernel that was built",
			Hints: []string{"remove it; it will be built again"}}
	}
	return k, err == nil, err
}

// Build builds a kernel, or finds it if it was built before. An error that is an *Unbuilt means that this configuration
// can't be built; after any other error the build can be retried.
func (t *Tree) Build(ctx context.Context, config kconfig.Config) (Kernel, error) {
	hash := t.Hash(config)
	if k, ok, err := t.find(hash); ok || err != nil {
		return k, err
	}
	var k Kernel
	err := t.locked(ctx, func() error {
		var ok bool
		var err error
		if k, ok, err = t.find(hash); ok || err != nil { // another process has built it meanwhile
			return err
		}
		k, err = t.build(ctx, hash, config)
		return err
	})
	return k, err
}

func (t *Tree) build(ctx context.Context, hash string, config kconfig.Config) (Kernel, error) {
	if err := t.configure(ctx, config); err != nil {
		return Kernel{}, err
	}
	t.AtStep("build " + hash)
	words := append(t.words(hash), fmt.Sprintf("-j%d", runtime.NumCPU()), "-s")
	if err := t.make(ctx, hash, append(words, "prepare")); err != nil { // before it no image has a name
		return Kernel{}, err
	}
	argv := t.argv(append(words, "image_name")...)
	out, err := t.Target.Run(ctx, argv...)
	if err != nil {
		return Kernel{}, err
	}
	image := filepath.Clean(strings.TrimSpace(string(out.Stdout)))
	if out.ExitCode != 0 || !filepath.IsLocal(image) || image == "." {
		return Kernel{}, &lab.Error{What: "the kernel's make does not say where its image is", Command: argv,
			Output: string(out.Stderr)}
	}
	if err := t.make(ctx, hash, append(words, filepath.Base(image))); err != nil {
		return Kernel{}, err
	}
	t.AtStep("keep " + hash)
	if err := t.keep(hash, image); err != nil {
		return Kernel{}, err
	}
	k, _, err := t.find(hash)
	return k, err
}

// words returns the arguments of make for a kernel. The user, host, time and number of the build are constant, so that
// kernels differ only in their options and names, and nothing more is rebuilt.
func (t *Tree) words(hash string) []string {
	return []string{"O=" + t.objects(), "LOCALVERSION=-headroom-" + hash[:8], "KBUILD_BUILD_USER=headroom",
		"KBUILD_BUILD_HOST=headroom", "KBUILD_BUILD_VERSION=1",
		"KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 1970"}
}

// configure sets the configuration of the next build.
func (t *Tree) configure(ctx context.Context, config kconfig.Config) error {
	var text strings.Builder
	for _, option := range slices.Sorted(maps.Keys(config)) {
		text.WriteString(t.line(option, config[option]))
	}
	s, err := t.complete(ctx, []byte(text.String()))
	if err != nil {
		return err
	}
	if differ := kconfig.Compare(config, s.config); len(differ) > 0 {
		c := differ[0]
		return &lab.Error{What: fmt.Sprintf("%s does not take the configuration as it is: %d options come out "+
			"otherwise, %s as %s and not as %s", t.Dir, len(differ), c.Option, c.B, c.A),
			Hints: []string{"was it made by another tree, or with another compiler?"}}
	}
	return os.WriteFile(filepath.Join(t.objects(), ".config"), s.text, 0o644)
}

// makeScript runs make ("$@"), with its errors in its output, in their original order. When make succeeds, it removes
// the mark $2, so that the objects in $1 can be trusted, even if headroom has ended meanwhile. A make that is asked to
// end removes partly written files only in most cases: sometimes it finds that its children have ended before it has
// determined why.
const makeScript = `objects=$1 unclean=$2
shift 2
"$@" 2>&1
code=$?
[ $code -ne 0 ] || { sync -f "$objects" && rm -f "$unclean"; }
exit $code`

// make builds a target of a kernel.
func (t *Tree) make(ctx context.Context, hash string, words []string) error {
	if err := write(t.unclean(), nil); err != nil {
		return err
	}
	argv := t.argv(words...)
	t.jobs++
	spec := host.JobSpec{ID: fmt.Sprintf("%s-kernel%d-%d", t.Run, os.Getpid(), t.jobs),
		Argv: slices.Concat([]string{"sh", "-c", makeScript, "sh", t.objects(), t.unclean()}, argv)}
	if t.Mark != "" {
		spec.Env = []string{t.Mark}
	}
	stop := func(after context.Context, job host.Job) error {
		err := errors.Join(stopped(ctx), job.Kill(after, stopGrace))
		if t.End != nil {
			err = errors.Join(err, t.End(after, t.objects()))
		}
		return err
	}
	state, output, err := host.RunJob(ctx, t.Target, spec, "stdout", stop)
	if err != nil || state.ExitCode == 0 && state.Signal == "" {
		return err
	}
	printed := string(output)
	how := fmt.Sprintf("exit status %d", state.ExitCode)
	if state.Signal != "" {
		how = "signal: " + state.Signal
	}
	// Make prints "*** [mm/slub.o] Killed" for a compiler that was killed.
	if state.Signal != "" || state.ExitCode > 128 || strings.Contains(printed, "] Killed") ||
		strings.Contains(printed, "] Terminated") {
		return &lab.Error{What: "building kernel " + hash + " was ended by another: " + how, Command: argv,
			Output: lastLines(printed), Hints: []string{"the kernel ends compilers when the memory is short: dmesg"}}
	}
	for _, short := range shortageMessages() {
		if strings.Contains(printed, short) {
			return &lab.Error{What: "building kernel " + hash + " failed: " + short, Command: argv,
				Hints: []string{"make room and try again; " + t.Out + " can be removed whenever nothing is built"}}
		}
	}
	if err := os.Remove(t.unclean()); err != nil {
		return err
	}
	return &Unbuilt{Config: hash, Reason: "make ended with " + how + ": " + lastLines(printed)}
}

// stopGrace is how long a job that is asked to end can take.
const stopGrace = 3 * time.Second

// shortageMessages are messages of a compiler or linker that blame the machine and not the configuration.
func shortageMessages() []string {
	return []string{"No space left on device", "Cannot allocate memory", "virtual memory exhausted",
		"Killed signal terminated program", "Disk quota exceeded", "Input/output error"}
}

// lastLines returns the last lines of make's output, except those in which one make after the other reports failure.
func lastLines(text string) string {
	printed := prose.LastLines(text, func(line string) bool {
		return strings.HasPrefix(line, "make[") || strings.HasPrefix(line, "make: ***")
	})
	if printed == "" {
		return "it printed nothing"
	}
	return printed
}

// keep stores a built kernel: either its folder is complete, or it does not exist.
func (t *Tree) keep(hash, image string) error {
	folder := filepath.Join(t.Out, hash)
	aside := t.movedFolder()
	if err := os.Mkdir(aside, 0o755); err != nil {
		return err
	}
	for name, from := range map[string]string{filepath.Base(image): image, configFile: ".config",
		releaseFile: "include/config/kernel.release"} {
		f, err := os.Open(filepath.Join(t.objects(), from))
		if err != nil {
			return err
		}
		if err := errors.Join(write(filepath.Join(aside, name), f), f.Close()); err != nil {
			return err
		}
	}
	if err := safepath.SyncFolder(aside); err != nil {
		return err
	}
	t.AtStep("name " + hash)
	if err := os.Rename(aside, folder); err != nil {
		return err
	}
	return safepath.SyncFolder(t.Out)
}

// write writes a file to the disk; from nil it is empty.
func write(path string, from io.Reader) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if from != nil {
		_, err = io.Copy(f, from)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return safepath.SyncFolder(filepath.Dir(path))
}
