//go:build system && guests

package cli

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/host/qemu"
	"github.com/headroom/headroom/internal/lab"
)

// innerUUID is what both QEMUs call the machine.
const innerUUID = "7f1d6a4e-3b52-4c18-9d0e-51c2f0a3b6d7"

// innerMachine is a virtual machine whose disk is on the client's mount. A machine within an emulated one takes more
// than ten minutes to boot, so this one runs on this machine: a QEMU on the client has the file of the mount open, and
// passes the disk on over NBD. Its kernel and file system are those of a guest that was booted once.
type innerMachine struct {
	kernel, initrd, arguments string
	// ssh is the configuration by which that guest was spoken to.
	ssh string
}

func makeInnerMachine(t *testing.T) innerMachine {
	t.Helper()
	file := guestFile(t)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(before), "memory:")
	text := head + "cpus: 1\nmemory: 384m\naccelerator: emulation\nlimit: 10m\nmodules: [ext4]\nprograms: " +
		"[mkfs.ext4]\ndisks:\n  - {name: data, kind: virtio-blk, size: 96m, backing: memory}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("/dev/shm", "headroom-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	g, err := qemu.Open(t.Context(), "qemu:"+file, file,
		qemu.Host{Folder: folder, Images: t.TempDir(), Links: &qemu.Links{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}()
	line, err := g.Run(t.Context(), "cat", "/proc/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	kept := t.TempDir()
	keep := func(name string) string {
		found, err := filepath.Glob(folder + "/*/" + name)
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", name, found, err)
		}
		data, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(kept, filepath.Base(found[0]))
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return to
	}
	m := innerMachine{kernel: keep("vmlinux-*"), initrd: keep("initrd-*"),
		arguments: strings.TrimSpace(string(line.Stdout))}
	config, err := os.ReadFile(keep("ssh_config"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(config)) {
		switch f := strings.Fields(line); f[0] {
		case "Host", "Port":
			continue
		case "UserKnownHostsFile", "IdentityFile":
			line = fmt.Sprintf("\t%s %q\n", f[0], keep(filepath.Base(strings.Trim(f[1], `"`))))
		}
		m.ssh += line
	}
	return m
}

// The same loads from a virtual machine whose disk is on the mount stand beside the mount's own; what the mount
// carried meanwhile is compared with them, and a machine that does not lie there is refused.
func TestNFSInsideAVirtualMachine(t *testing.T) {
	guestSearches(t)
	t.Parallel()
	began := time.Now()
	inner := makeInnerMachine(t)
	firmware := []string{"/usr/share/seabios/bios-256k.bin", "/usr/share/qemu/pvh.bin",
		"/usr/share/qemu/linuxboot_dma.bin", "/usr/share/qemu/kvmvapic.bin"}
	const module = "/usr/lib/x86_64-linux-gnu/qemu/accel-tcg-x86_64.so" // where emulation is none of QEMU's own program
	if _, err := os.Stat(module); err == nil {
		firmware = append(firmware, module)
	}
	p := startNFSPair(t, func(client string) string {
		client = strings.Replace(client, "memory: 640m", "memory: 1g", 1)
		client = strings.Replace(client, "files: [", "files: ["+strings.Join(firmware, ", ")+", ", 1)
		return strings.Replace(client, "programs: [", "programs: [qemu-system-x86_64, ", 1)
	})
	const tcp = "vers=4.2,proto=tcp"
	p.run(p.client, "mount.nfs 10.0.11.1:/ /mnt -o "+tcp+",retry=0 && truncate -s 96M /mnt/disk.raw")
	v := p.fixture()
	if err := os.WriteFile(v.suite, []byte(nfsTestSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := v.command("nfs", v.suite, "--on", "client=ssh://nfs-client", "--mounted", "/mnt", "--guest",
		"ssh://nfs-server", "--guest-place", "/export").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no virtual machine has a file of /mnt open") {
		t.Errorf("a mount on which no virtual machine lies: %v\n%s", err, out)
	}

	p.run(p.client, `cat >/run/qmp <<'END'
{"execute":"qmp_capabilities"}
{"execute":"nbd-server-start","arguments":{"addr":{"type":"inet","data":{"host":"127.0.0.1","port":"10809"}}}}
{"execute":"block-export-add","arguments":{"type":"nbd","id":"data","node-name":"data","writable":true}}
END
{ { cat /run/qmp; sleep 100000; } | setsid qemu-system-x86_64 -nodefaults -no-user-config -display none -name inner -uuid `+innerUUID+` -machine q35 -accel tcg -m 16M -S `+
		`-blockdev driver=file,node-name=data,filename=/mnt/disk.raw,cache.direct=on -qmp stdio >/run/inner.said 2>&1; } </dev/null >/dev/null 2>&1 &`)
	t.Cleanup(func() { t.Log(p.run(p.client, "cat /run/inner.said")) })
	both, err := os.ReadFile(p.sshConfig)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Minute); p.run(p.client, "netstat -tln | grep -c :10809; true") !=
		"1"; time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatal("the client does not pass the disk on")
		}
	}
	sshPort, diskPort := freeTCPPort(t), freeTCPPort(t)
	console := filepath.Join(t.TempDir(), "console")
	for _, argv := range [][]string{
		{"ssh", "-F", p.sshConfig, "-N", "-o", "ExitOnForwardFailure=yes", "-L",
			fmt.Sprintf("127.0.0.1:%d:127.0.0.1:10809", diskPort), "nfs-client"},
		{"qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-uuid", innerUUID,
			"-machine", "q35", "-accel", "tcg", "-cpu", "max", "-smp", "1",
			"-m", "384M", "-serial", "file:" + console, "-kernel", inner.kernel, "-initrd", inner.initrd,
			"-append", inner.arguments,
			"-netdev", fmt.Sprintf("user,id=net,ipv6=off,restrict=on,hostfwd=tcp:127.0.0.1:%d-:22", sshPort), "-device",
			"virtio-net-pci,netdev=net,romfile=",
			"-blockdev", fmt.Sprintf(
				"driver=nbd,node-name=data,server.type=inet,server.host=127.0.0.1,server.port=%d,export=data",
				diskPort),
			"-device", "virtio-blk-pci,drive=data,serial=on-nfs-1"},
	} {
		cmd := exec.Command(argv[0], argv[1:]...)
		var printed bytes.Buffer
		cmd.Stderr = &printed
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Logf("%s: %s", argv[0], printed.String())
		})
		if argv[0] == "ssh" {
			for end := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Second) {
				c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", diskPort))
				if err == nil {
					c.Close()
					break
				}
				if time.Now().After(end) {
					t.Fatal(err)
				}
			}
		}
	}
	text := string(both) + fmt.Sprintf("Host nfs-inner\n\tPort %d\n", sshPort) + inner.ssh
	file := filepath.Join(t.TempDir(), "ssh_config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	v.env = []string{config.Variable(config.SSHConfig) + "=" + file}
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(time.Second) {
		if printed, _ := os.ReadFile(console); strings.Contains(string(printed), "headroom: this guest is ready") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the machine has not started")
		}
	}
	t.Logf("the machine was ready after %s", time.Since(began).Round(time.Second))
	p.inner(file, "mkdir -p /data && mkfs.ext4 -q /dev/vda && mount /dev/vda /data")

	out, err = v.command("nfs", v.suite, "--on", "client=ssh://nfs-client", "--on", "server=ssh://nfs-server",
		"--export", "/export", "--mounted", "/mnt",
		"--guest", "ssh://nfs-inner", "--guest-place", "/data", "--set", "runtime=10s").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("a mount and a machine on it after %s\n%s", time.Since(began).Round(time.Second), out)
	bundles := v.measuredStages()
	var stages []string
	for _, b := range bundles {
		stages = append(stages, b.Run.Arms[0].Levels[lab.StageLevel])
		if b.Run.Status != lab.Complete {
			t.Errorf("%s is %s", stages[len(stages)-1], b.Run.Status)
		}
		codes := codesOf(t, b)
		for _, code := range []string{"path-unused", "page-cache"} {
			if slices.Contains(codes, code) {
				t.Errorf("%s: %v", stages[len(stages)-1], codes)
			}
		}
	}
	if want := []string{"server memory", "TCP single path", "TCP single path, in a guest"}; !slices.Equal(stages,
		want) {
		t.Errorf("stages %q, want %q\n%s", stages, want, out)
	}
	if !strings.Contains(string(out), "of TCP single path") {
		t.Errorf("what the virtual machine takes is not told\n%s", out)
	}
	if left := p.run(p.client, "ls /mnt; true"); left != "disk.raw" {
		t.Errorf("left on the mount: %s", left)
	}
}

// inner runs a command in the machine.
func (p nfsPair) inner(sshConfig, command string) {
	p.t.Helper()
	t, err := app.New(app.Environment{Env: func(name string) string {
		if name == config.Variable(config.SSHConfig) {
			return sshConfig
		}
		return os.Getenv(name)
	}}).OpenTarget(context.WithoutCancel(p.t.Context()), "ssh://nfs-inner")
	if err != nil {
		p.t.Fatal(err)
	}
	p.run(t, command)
	app.New(app.Environment{Stderr: os.Stderr}).CloseTarget(t)
}

// freeTCPPort is one on which nobody listens now.
func freeTCPPort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
