package kbuild

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

// Terms are the parameters of building kernels.
type Terms struct {
	// Target is this machine.
	Target host.Target
	// Dir is the kernel's source; nothing is written to it.
	Dir string
	// Out is the folder for all created files.
	Out string
	// Make are variables for make: "CC=gcc-12". Variables of the environment are not used.
	Make []string
	// Run is the ID of the run that measures, the prefix of the names of the build jobs.
	Run string
	// Mark is a variable in the environment of all started processes, "NAME=value", by which they are found after a
	// crash.
	Mark string
	// End ends the processes that have the mark or work in this folder.
	End func(ctx context.Context, folder string) error
	// Trust returns an error if others could have created the contents of a folder.
	Trust func(name string) error
	// AtStep is called before each step that leaves files behind, with its name. Tests use it to end the process there.
	AtStep func(step string)
	// Waiting is called when another process works in this folder, and the caller has to wait.
	Waiting func(folder string)
}

// Tree is the source of a kernel.
type Tree struct {
	Terms
	// Release of the source: "6.1.192".
	Release string
	// identity is the common input of the hashes of its kernels.
	identity string
	// folder is the tree's folder in Out.
	folder string
	// configSlots are the numbers of the folders in which configurations are completed, each by one goroutine at a
	// time.
	configSlots chan int
	// recovered is set once no processes of a killed headroom run in the folder any more.
	recovered bool
	jobs      int

	mu sync.Mutex
	// strings are the options that were seen to be strings, whose values always have quotes.
	strings map[string]bool
}

// Open opens a tree.
func Open(ctx context.Context, terms Terms) (*Tree, error) {
	if terms.AtStep == nil {
		terms.AtStep = func(string) {}
	}
	for _, path := range []*string{&terms.Dir, &terms.Out} {
		whole, err := filepath.Abs(*path)
		if err != nil {
			return nil, err
		}
		if strings.ContainsAny(whole, " \t:") {
			return nil, &lab.Error{Kind: lab.Usage, What: whole +
				" has a space or a colon in its path, with which no kernel can be built"}
		}
		*path = whole
	}
	for _, word := range terms.Make {
		if name, _, ok := strings.Cut(word, "="); !ok || !isVariable(name) {
			return nil, &lab.Error{Kind: lab.Usage,
				What: fmt.Sprintf("%q can't be given to the kernel's make: variables can, but for those that say "+
					"where and under which name", word), Hints: []string{"CC=gcc-12"}}
		}
	}
	if err := refuse(terms.Dir); err != nil {
		return nil, err
	}
	t := &Tree{Terms: terms, configSlots: make(chan int, maxConcurrentConfigs), strings: map[string]bool{}}
	for i := range min(maxConcurrentConfigs, runtime.NumCPU()) {
		t.configSlots <- i
	}
	argv := t.argv("-s", "kernelversion")
	printed, err := t.Target.Run(ctx, argv...)
	if err != nil {
		return nil, err
	}
	if printed.ExitCode != 0 {
		return nil, &lab.Error{What: "the kernel's make does not say its version", Command: argv,
			Output: string(printed.Stderr), Hints: []string{"apt install make gcc"}}
	}
	t.Release = strings.TrimSpace(string(printed.Stdout))
	if err := os.MkdirAll(t.Out, 0o755); err != nil {
		return nil, err
	}
	for _, path := range []*string{&t.Dir, &t.Out} {
		if *path, err = filepath.EvalSymlinks(*path); err != nil { // because processes are found by it
			return nil, err
		}
	}
	t.folder = filepath.Join(t.Out, "tree-"+digest(append([]string{t.Dir}, t.Make...)...)[:8])
	if t.Trust != nil {
		if err := t.Trust(t.folder); err != nil {
			return nil, err
		}
	}
	t.identity, err = t.identify(ctx)
	return t, err
}

// refuse returns an error if no kernel can be built from the source in another folder.
func refuse(dir string) error {
	for _, file := range []string{"Kconfig", "Makefile", "scripts/kconfig"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			return &lab.Error{Kind: lab.Usage, What: dir + " is no tree of the kernel's source", Err: err,
				Hints: []string{"on Debian: apt install linux-source, and unpack /usr/src/linux-source-*.tar.xz"}}
		}
	}
	// The tree's own rule: the Makefile's outputmakefile.
	for _, pattern := range []string{".config", "include/config", "arch/*/include/generated"} {
		if found, _ := fs.Glob(os.DirFS(dir), pattern); len(found) > 0 {
			return &lab.Error{Kind: lab.Refused,
				What: fmt.Sprintf("%s was built in (%s), and can't be built elsewhere before it is clean", dir,
					found[0]),
				Hints: []string{"make mrproper, in it or in a copy; it removes .config, too"}}
		}
	}
	return nil
}

// isVariable reports whether a variable may be given to make.
func isVariable(name string) bool {
	switch name {
	case "", "O", "KBUILD_OUTPUT", "LOCALVERSION", "KCONFIG_CONFIG", "KBUILD_KCONFIG":
		return false
	}
	return strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// identify returns the identity of the source. It does not notice uncommitted changes of files other than the top
// Makefile.
func (t *Tree) identify(ctx context.Context) (string, error) {
	info, err := os.Stat(filepath.Join(t.Dir, "Makefile"))
	if err != nil {
		return "", err
	}
	commit := ""
	if _, err := os.Stat(filepath.Join(t.Dir, ".git")); err == nil {
		out, err := t.Target.Run(ctx, "env", "-u", "GIT_DIR", "-u", "GIT_WORK_TREE", "git", "-c", "safe.directory=*",
			"-C", t.Dir, "rev-parse", "--verify", "HEAD")
		if err != nil {
			return "", err
		}
		commit = strings.TrimSpace(string(out.Stdout))
	}
	return digest(append([]string{"headroom/kernel/v1", t.Dir, t.Release, info.ModTime().UTC().Format(time.RFC3339Nano),
		commit}, t.Make...)...), nil
}

// digest returns a hash of texts. Each text is hashed with its length, so that different lists never have the same
// input.
func digest(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s\n", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// argv returns a command of the tree's make. Its results must depend only on the source, the words and the
// configuration, because these are the key in the cache: all variables of the environment that kbuild or make read are
// removed.
func (t *Tree) argv(words ...string) []string {
	argv := []string{"env"}
	for _, name := range []string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEFILES", "GNUMAKEFLAGS", "MAKEOVERRIDES",
		"ARCH", "SUBARCH", "CROSS_COMPILE", "LLVM", "LLVM_IAS", "LOCALVERSION",
		"KBUILD_OUTPUT", "KBUILD_KCONFIG", "KBUILD_EXTMOD", "KBUILD_DEFCONFIG", "KBUILD_VERBOSE", "KCFLAGS",
		"KCPPFLAGS", "KAFLAGS", "HOSTCFLAGS", "HOSTLDFLAGS", "INSTALL_PATH",
		"KCONFIG_CONFIG", "KCONFIG_ALLCONFIG", "KCONFIG_OVERWRITECONFIG", "KCONFIG_NOSILENTUPDATE", "KCONFIG_WERROR",
		"KCONFIG_WARN_UNKNOWN_SYMBOLS"} {
		argv = append(argv, "-u", name)
	}
	argv = append(argv, "LC_ALL=C", "make", "--no-print-directory", "-C", t.Dir)
	return append(append(argv, t.Make...), words...)
}

func (t *Tree) objects() string { return filepath.Join(t.folder, "objects") }
func (t *Tree) unclean() string { return filepath.Join(t.folder, "unclean") }

// movedFolder is where a kernel is assembled before its folder is renamed.
func (t *Tree) movedFolder() string { return filepath.Join(t.folder, "aside") }

// lock locks the tree's folder against other processes, and removes partly written files of a killed one.
func (t *Tree) lock(ctx context.Context) (unlock func() error, err error) {
	if err := os.MkdirAll(t.folder, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Open(t.folder)
	if err != nil {
		return nil, err
	}
	for waited := time.Duration(0); ; waited += lockPause {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			break
		}
		if waited == lockTimeout && t.Waiting != nil {
			t.Waiting(t.folder)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(&lab.Error{Kind: lab.Cancelled, What: "stopped while another process builds in " +
				t.folder, Err: context.Cause(ctx)}, f.Close())
		case <-time.After(lockPause):
		}
	}
	if err := t.recoverLeftovers(ctx); err != nil {
		return nil, errors.Join(err, safepath.Unlock(f))
	}
	return func() error { return safepath.Unlock(f) }, nil
}

// lockTimeout is how long the lock of a process that was just killed can be held by a child that was being started.
const (
	lockTimeout = 500 * time.Millisecond
	lockPause   = 100 * time.Millisecond
)

// recoverLeftovers ends processes left by a killed headroom, and removes files that can't be trusted.
func (t *Tree) recoverLeftovers(ctx context.Context) error {
	if t.End != nil && (!t.recovered || exists(t.unclean())) {
		if err := t.End(ctx, t.folder); err != nil {
			return err
		}
	}
	t.recovered = true
	if err := os.RemoveAll(t.movedFolder()); err != nil {
		return err
	}
	// A partly written file looks complete to make, because it is newer than its sources.
	if exists(t.unclean()) {
		t.AtStep("remove unclean objects")
		if err := os.RemoveAll(t.objects()); err != nil {
			return err
		}
		if err := os.Remove(t.unclean()); err != nil {
			return err
		}
	}
	return os.MkdirAll(t.objects(), 0o755)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
