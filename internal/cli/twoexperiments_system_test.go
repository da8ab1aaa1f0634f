//go:build system

package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/sshtest"
)

// oneNetwork is a network of a test's own, whose settings of the kernel two headrooms vary at the same time.
type oneNetwork struct {
	t       *testing.T
	process string
}

// keepalive is the setting that is varied, and how it is found.
const keepalive, keepaliveFound = "net.ipv4.tcp_keepalive_intvl", "75"

func newNetwork(t *testing.T) oneNetwork {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a network namespace needs root")
	}
	sshtest.Tool(t, "nsenter", "/usr/bin/nsenter")
	held := exec.Command("unshare", "--net", "sleep", "100000")
	if err := held.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = held.Process.Kill()
		_ = held.Wait()
	})
	n := oneNetwork{t, strconv.Itoa(held.Process.Pid)}
	await(t, "the network is there", func() bool {
		ours, err := os.Readlink("/proc/self/ns/net")
		its, other := os.Readlink("/proc/" + n.process + "/ns/net")
		return err == nil && other == nil && ours != its
	})
	return n
}

// within is a command in the network.
func (n oneNetwork) within(cmd *exec.Cmd) *exec.Cmd {
	inside := exec.Command("nsenter", append([]string{"--target", n.process, "--net"}, cmd.Args...)...)
	inside.Env = cmd.Env
	return inside
}

// isFound asserts that the setting is as it was found.
func (n oneNetwork) isFound(when string) {
	n.t.Helper()
	out, err := n.within(exec.Command("cat", "/proc/sys/"+strings.ReplaceAll(keepalive, ".", "/"))).Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != keepaliveFound {
		n.t.Errorf("%s: %s is %q, want %s, %v", when, keepalive, got, keepaliveFound, err)
	}
}

// experiment of a fixture that sets the network to a level.
func (n oneNetwork) experiment(v fixture, level string, more ...string) *exec.Cmd {
	return n.within(v.command(append([]string{"ablate", v.suite, v.place, "--setting", "sysctl:" + keepalive + "=" +
		level, "--alone", "--blocks", "1"}, more...)...))
}

// experimenter is a fixture whose load is a command.
func experimenter(t *testing.T) fixture {
	t.Helper()
	v := newFixture(t)
	if err := os.WriteFile(v.suite, []byte("version: 1\nname: short\njobs:\n  - {name: nothing, exec: [sleep, \"0.02\"]}\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	return v
}

// held says whether a command was refused because another run has the setting.
func held(err error, printed string) bool {
	exit, isExit := errors.AsType[*exec.ExitError](err)
	return isExit && exit.ExitCode() == 4 && strings.Contains(printed, "can't be changed: run ")
}

// Of two experiments that vary one setting at the same time, from two stores, the later is refused or waits. Whatever
// happens, the setting is as it was found at the end.
func TestTwoExperimentsOnOneSetting(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	rounds := 3
	if figure.Whole {
		rounds = 100
	}
	refused := 0
	for round := range rounds {
		stores, errs, printed := []fixture{experimenter(t), experimenter(t)}, [2]error{}, [2]bytes.Buffer{}
		var cmds [2]*exec.Cmd
		for i, v := range stores {
			cmds[i] = n.experiment(v, strconv.Itoa(43+i))
			cmds[i].Stdout, cmds[i].Stderr = &printed[i], &printed[i]
			if err := cmds[i].Start(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range cmds {
			errs[i] = cmds[i].Wait()
		}
		n.isFound("round " + strconv.Itoa(round))
		worked := 0
		for i, err := range errs {
			switch {
			case err == nil:
				worked++
			case held(err, printed[i].String()):
				refused++
			default:
				t.Errorf("round %d: %v\n%s", round, err, &printed[i])
			}
			if out, err := stores[i].command("restore").CombinedOutput(); err != nil ||
				!strings.Contains(string(out), "nothing was left behind") {
				t.Errorf("round %d: restore: %v\n%s", round, err, out)
			}
		}
		if worked == 0 {
			t.Errorf("round %d: both were refused:\n%s%s", round, &printed[0], &printed[1])
		}
		n.isFound("restored in round " + strconv.Itoa(round))
	}
	t.Logf("%d of %d experiments were refused", refused, 2*rounds)

	// With --wait both are carried out, one after the other.
	waiting := n.experiment(experimenter(t), "44", "--wait")
	var said bytes.Buffer
	waiting.Stderr = &said
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	out, err := n.experiment(experimenter(t), "43", "--wait").CombinedOutput()
	if other := waiting.Wait(); err != nil || other != nil {
		t.Errorf("%v, %v\n%s\n%s", err, other, out, &said)
	}
	n.isFound("both waited")
}

// What a killed experiment has set is not taken for what was there: others are refused until it is recovered.
func TestASettingOfAKilledExperimentIsRefusedToOthers(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	killed, other := experimenter(t), experimenter(t)
	text := "version: 1\nname: long\njobs:\n  - {name: nothing, exec: [sleep, \"100000\"], timeout: 30h}\n"
	if err := os.WriteFile(killed.suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := n.experiment(killed, "43", "--seed", "1")
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "a load of it goes on", func() bool {
		runs, err := filepath.Glob(filepath.Join(killed.store, "runs", "*", "active.json"))
		return err == nil && len(runs) == 1 && len(processesOf(t, filepath.Base(filepath.Dir(runs[0])))) > 0
	})
	for _, wait := range [][]string{nil, {"--wait"}} {
		if len(wait) > 0 { // nobody will ever end it
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait()
		}
		out, err := n.experiment(other, "44", wait...).CombinedOutput()
		hint := map[bool]string{true: "headroom restore --store " + killed.store, false: "--wait waits"}[len(wait) > 0]
		if !held(err, string(out)) || !strings.Contains(string(out), hint) {
			t.Errorf("%v\n%s\nwant %s", err, out, hint)
		}
	}
	if out, err := n.within(killed.command("restore")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	n.isFound("restored")
	if out, err := n.experiment(other, "44").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	n.isFound("at the end")
}
