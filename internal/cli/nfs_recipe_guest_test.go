//go:build system && guests

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// The two guests of docs/howto/nfs.md work as they are written there: with the programs of NFS where Debian installs
// them, which a mount namespace of the test's own shows, and the kernel that is available. Of the suite one short load
// is measured.
func TestNFSGuestsOfTheDocs(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a mount namespace needs root")
	}
	t.Parallel()
	kernel := kernelOfGuests(t)
	out, err := exec.Command("../../scripts/guest-nfs").Output()
	if err != nil {
		t.Fatalf("no programs of NFS for the guests: %v", err)
	}
	programs := strings.TrimSpace(string(out))
	page, err := os.ReadFile("../../docs/howto/nfs.md")
	if err != nil {
		t.Fatal(err)
	}
	v := newFixture(t)
	dir := filepath.Dir(v.suite)
	for _, name := range []string{"server.yaml", "client.yaml"} {
		m := regexp.MustCompile("(?s)```yaml\n# " + regexp.QuoteMeta(name) + "\n(.*?)```").FindSubmatch(page)
		if m == nil {
			t.Fatalf("docs/howto/nfs.md has no %s", name)
		}
		text := regexp.MustCompile(`(?m)^kernel: .*$`).ReplaceAllString(string(m[1]), "kernel: "+kernel)
		// Guests of KVM hang on machines that nest badly.
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"accelerator: emulation\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(v.suite, []byte(nfsTestSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(
		`(?m)^headroom nfs (--on client=qemu:client\.yaml --on server=qemu:server\.yaml .*) \\$`).FindSubmatch(page)
	if command == nil {
		t.Fatal("docs/howto/nfs.md has no command for its guests")
	}
	args := strings.NewReplacer("qemu:client.yaml", "qemu:"+dir+"/client.yaml", "qemu:server.yaml",
		"qemu:"+dir+"/server.yaml").Replace(string(command[1]))
	measure := v.command(append([]string{"nfs", v.suite}, strings.Fields(args)...)...)
	// What is mounted over the folder of programs is gone with the namespace. Mounts of the machine are not changed.
	folders := programs + "/usr/sbin"
	// newer packages have all of them in one
	if real, err := filepath.EvalSymlinks(programs + "/sbin"); err == nil && real != folders {
		folders += ":" + programs + "/sbin"
	}
	layer := "mount --make-rprivate / && mount -t overlay overlay -o lowerdir=" + folders +
		":/usr/sbin /usr/sbin && exec \"$@\""
	inside := exec.Command("unshare", append([]string{"--mount", "sh", "-c", layer, "sh"}, measure.Args...)...)
	inside.Env = measure.Env
	out, err = inside.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// What went over each path, and what to paste for good, wherever lines are broken.
	printed := strings.Join(strings.Fields(string(out)), " ")
	// eth0 is for headroom itself: whether its bytes reach one per cent depends on the load.
	if !regexp.MustCompile(`bytes at the client: (eth0 \d+%, )?eth1 \d+%, eth2 \d+%`).MatchString(printed) {
		t.Errorf("it does not say what went over both links:\n%s", out)
	}
	for _, want := range []string{"transport 2 (tcp)", "transport 2 (rdma)",
		" for good, the fastest of 4 mounts", "in /etc/fstab", "10.0.11.1:/"} {
		if !strings.Contains(printed, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	stages := map[string]bool{}
	for _, b := range v.measuredStages() {
		for _, a := range b.Run.Arms {
			stages[a.Levels[lab.StageLevel]] = true
		}
	}
	for _, want := range []string{"server memory", "TCP single path", "TCP multipath", "RDMA single path",
		"RDMA multipath"} {
		if !stages[want] {
			t.Errorf("no stage %q among %v", want, stages)
		}
	}
	v.checkNothingLeft("after the stages")
}
