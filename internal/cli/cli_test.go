package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/headroom/headroom/internal/app"
)

// exitBefore is the number of the step of saving before which the process kills itself, or a text: then it is the first
// step that has it in its name.
const exitBefore = "HEADROOM_TEST_DIE_BEFORE"

// systemConfig names the system's configuration file; that of the machine that tests run on is not read.
const systemConfig = "HEADROOM_TEST_SYSTEM_CONFIG"

// The test binary is the command too: scripts and tests run it by the name headroom.
func TestMain(m *testing.M) {
	headroom := func() {
		signals := make(chan os.Signal, 8)
		signal.Notify(signals, app.StopSignals()...)
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // as cmd/headroom does
		os.Exit(Run(context.Background(), app.Environment{
			Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Getenv, Version: "test",
			AtStep:       exitAt(),
			SystemConfig: os.Getenv(systemConfig),
			// By the name under which it is this program, and not its tests.
			Executable: func() (string, error) { return exec.LookPath("headroom") },
			Signals:    signals, Exit: os.Exit, Footprint: new(app.Footprint),
		}))
	}
	// Thousands of commands leave their garbage in this one process, and hold a few megabytes at a time.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(1000)
	}
	testscript.Main(m, map[string]func(){"headroom": headroom, app.PluginFile: headroom, app.CompletionFile: headroom})
}

func exitAt() func(string) {
	at := os.Getenv(exitBefore)
	if at == "" {
		return nil
	}
	last, err := strconv.Atoi(at)
	named := err != nil
	steps := 0
	return func(step string) {
		if steps++; steps == last || named && strings.Contains(step, at) {
			fmt.Fprintln(os.Stderr, "died before:", step)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

// TestScripts runs the sessions in testdata/script: what a user types and what must come back.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

// TestCases reads what strangers have published, a file each. Its first lines say what a careful reader takes from it.
func TestCases(t *testing.T) { runScripts(t, "testdata/cases") }

func runScripts(t *testing.T, dir string, env ...string) {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no script in %s: %v", dir, err)
	}
	docs, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := filepath.Abs("../diff/testdata/configs")
	if err != nil {
		t.Fatal(err)
	}
	compared, err := filepath.Abs("testdata/compare")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HEADROOM_STORE", filepath.Join(e.WorkDir, "store"))
			e.Setenv("DOCS", docs)
			e.Vars = append(e.Vars, env...)
			e.Setenv("COMPARED", compared)
			e.Setenv("KERNELS", kernels)
			memory, err := os.MkdirTemp("/dev/shm", "headroom-test-")
			if err != nil {
				return err
			}
			e.Setenv("MEMORY", memory)
			e.Defer(func() {
				_ = os.RemoveAll(memory)
				detachLoops(e.WorkDir)
				for _, left := range []string{"full", "mounted"} { // by a script that failed
					_ = exec.Command("umount", "-q", filepath.Join(e.WorkDir, left)).Run()
				}
			})
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// detachLoops detaches the loop devices that a script has made of its files, also when it failed half-way.
func detachLoops(dir string) {
	out, err := exec.Command("losetup", "--list", "--noheadings", "--output", "NAME,BACK-FILE").Output()
	if err != nil {
		return // no loop devices here, so none were made
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[1], dir+"/") {
			_ = exec.Command("losetup", "-d", f[0]).Run()
		}
	}
}
