package qemu

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
)

// A guest's console arrives character by character. A partly written panic is not reported yet.
func TestPanicIsReadWhole(t *testing.T) {
	dir := t.TempDir()
	console := filepath.Join(dir, consoleFile)
	write := func(text string) {
		if err := os.WriteFile(console, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	write("[    1.0] Kernel panic - not syncing: VFS: Una")
	log, err := os.Create(filepath.Join(dir, logFile))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p, err := startProcess([]string{"sleep", "60"}, dir, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() {
		write("[    1.0] Kernel panic - not syncing: VFS: Unable to mount root fs\n[    1.0] Call Trace:\n")
		p.stop(stopGrace) // like the guest, which ends QEMU after its report
	})
	g := &Guest{dir: dir, process: p}
	if err := g.await(t.Context(), start{}); err == nil ||
		err.Error() != "its kernel panicked: VFS: Unable to mount root fs" {
		t.Errorf("the panic is told as %v", err)
	}
	if printed := g.outputTail(nil); !strings.HasSuffix(printed, "Call Trace:") {
		t.Errorf("its last words are %q", printed)
	}
}

// Modules are loaded with their options from the kernel's command line, and a module that refuses them fails the boot.
func TestModulesGetTheirArguments(t *testing.T) {
	script := loadScript([]module{{"nvme_core", false}, {"nvme", true}, {"ahci", true}, {"virtio_blk", true}},
		`nvme.io_queue_depth=2 nvme.unknown nvme-core.dyndbg="file a.c +p; it's" modprobe.blacklist=ahci,nvme_core quiet`)
	want := `$b insmod /modules/nvme_core.ko 'dyndbg="file a.c +p; it'\''s"' || echo 'headroom: not loaded with the arguments of the kernel'\''s command line: nvme_core dyndbg="file a.c +p; it'\''s"'
$b insmod /modules/nvme.ko io_queue_depth=2 unknown || echo 'headroom: not loaded with the arguments of the kernel'\''s command line: nvme io_queue_depth=2 unknown'
echo 'headroom: modprobe.blacklist keeps the module ahci out'
$b insmod /modules/virtio_blk.ko || echo 'headroom: the module virtio_blk can not be loaded'
`
	if script != want {
		t.Errorf("the modules are loaded by\n%s\nwant\n%s", script, want)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, consoleFile), []byte(refusedArguments+"nvme io_queue_depth=1\r\nmore\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, logFile))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p, err := startProcess([]string{"sleep", "60"}, dir, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop(stopGrace)
	err = (&Guest{dir: dir, process: p}).await(t.Context(), start{})
	if _, ok := errors.AsType[*host.NotStarted](err); !ok ||
		!strings.HasSuffix(err.Error(), "has for it: nvme io_queue_depth=1") {
		t.Errorf("a module that refuses its arguments is told as %v", err)
	}
}

// Files that an earlier start appended to the initrd of a guest are gone at the next start.
func TestInitrdIsOfOneCommandLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "initrd")
	if err := os.WriteFile(file, []byte("files"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := bootable{initrd: file, modules: []module{{"nvme", true}}, size: 5}
	for _, line := range []string{"nvme.a_long_name_of_a_parameter=1", "quiet"} {
		if err := b.adapt(line); err != nil {
			t.Fatal(err)
		}
		a := NewArchive()
		a.File(loadFile, 0o644, []byte(loadScript(b.modules, line)))
		if got, err := os.ReadFile(file); err != nil || string(got) != "files"+string(a.Bytes()) {
			t.Errorf("with %s the initrd holds %q, %v", line, got, err)
		}
	}
}
