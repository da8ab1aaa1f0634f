//go:build system && kube

package kube_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/kube"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/kubetest"
	"github.com/headroom/headroom/internal/testing/sshtest"
	"github.com/headroom/headroom/internal/testing/standin"
)

// machineSpace is a namespace in which nothing of a machine may be left.
func machineSpace(t *testing.T) string {
	t.Helper()
	name := space(t)
	t.Cleanup(func() {
		if left := leftOfMachines(t, name); left != "" {
			t.Errorf("%s is left in %s", strings.Fields(left), name)
		}
	})
	return name
}

func leftOfMachines(t *testing.T, namespace string) string {
	t.Helper()
	return kubectl(t, "", "get", "vm,vmi,pvc,secret,job", "-n", namespace, "-l",
		"app.kubernetes.io/managed-by=headroom", "-o", "name")
}

// The tests of a cluster that knows KubeVirt's resources. They mostly wait, for programs of the node and for guests
// that boot, and each has a namespace, and a stand-in, of its own.
func TestMachines(t *testing.T) {
	cluster(t)
	kubetest.KubeVirt(t, os.Getenv("KUBECONFIG"))
	t.Setenv("PATH", printed(t, "virtctl")+":"+os.Getenv("PATH"))
	t.Run("refused", machinesThatCantBe) // by itself: it changes what KubeVirt is installed
	t.Run("at once", func(t *testing.T) {
		for name, test := range map[string]func(t *testing.T){
			"schema": machinesAreOfKubeVirtsSchema, "abandoned": aMachineThatIsAbandoned, "whole": aMachine,
			"role": theRoleOfMachinesIsWhatTheyTake, "files": aMachineOnAFile, "not starting": machinesThatDoNotStart,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
}

// The API server itself holds what headroom makes against the schema of a release of KubeVirt, with every option and
// after every boot; and it refuses what is not of the schema, or the check would say nothing.
func machinesAreOfKubeVirtsSchema(t *testing.T) {
	namespace := machineSpace(t)
	check := func(object string) (string, error) {
		cmd := exec.Command("kubectl", "create", "-n", namespace, "--dry-run=server", "--validate=strict", "-f", "-")
		cmd.Stdin = strings.NewReader(object)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	pieces := func(name string, settings map[string]string) []string {
		o, err := kube.ParseName(name)
		if err == nil && settings != nil {
			o.Machine, err = o.WithSettings(settings)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all, err := kube.Pieces(o)
		if err != nil || len(all) < 3 {
			t.Fatalf("%d pieces, %v", len(all), err)
		}
		return all
	}
	const whole = "kube:vm?boot=x&class=fast&size=1Gi&cores=4&memory=2Gi&cpu=2..4&cache=none&io=native&iothreads=4&multiqueue&node=node1&selector=disk=nvme&tolerate&pullsecret=s&pull=always"
	names := []string{"kube:vm?boot=x", whole, "kube:vm?boot=x&class=fast&mode=filesystem",
		"kube:vm?bootclaim=image&claim=mine&bus=scsi&dedicatediothread&dedicatedcpus&cpu=2",
		"kube:vm?boot=x&emptydisk&iothreadspolicy=auto&cache=writeback&io=threads",
		"kube:vm?boot=x&class=fast&iothreadspolicy=shared&bus=sata&dedicatediothread"}
	for _, name := range names[:5] {
		for _, object := range pieces(name, nil) {
			if out, err := check(object); err != nil {
				t.Errorf("%s: %s", name, out)
			}
		}
	}
	for _, settings := range []map[string]string{{"iothreads": "0"}, {"iothreads": "16"}, {"iothreadspolicy": "auto"},
		{"multiqueue": "off"}, {"bus": "scsi", "iothreads": "0"},
		{"cache": "writethrough", "aio": "threads"}, {"cpus": "8", "memory": "4Gi"},
		{"iothreads": "0", "dedicatediothread": "on"}} {
		for _, object := range pieces(whole, settings) {
			if out, err := check(object); err != nil {
				t.Errorf("%v: %s", settings, out)
			}
		}
	}
	machine := pieces(whole, nil)[3]
	for was, spoiled := range map[string]string{
		`"ioThreadsPolicy"`:               `"ioThreadPolicy"`,
		`"supplementalPoolThreadCount":4`: `"supplementalPoolThreadCount":"four"`, `"blockMultiQueue"`: `"multiQueue"`,
		`"cores":4`: `"cores":-4.5`, `"cloudInitNoCloud"`: `"cloudInit"`, `"guest":"2Gi"`: `"guest":{"size":"2Gi"}`,
	} {
		if !strings.Contains(machine, was) {
			t.Errorf("there is no %s in %s", was, machine)
		} else if out, err := check(strings.ReplaceAll(machine, was, spoiled)); err == nil {
			t.Errorf("%s is taken: %s", spoiled, out)
		}
	}
}

func openMachine(t *testing.T, records, name string, ssh ...string) (*kube.Machine, error) {
	t.Helper()
	o, err := kube.ParseName(name)
	if err != nil {
		t.Fatal(err)
	}
	return kube.OpenMachine(t.Context(), o, kube.Host{Records: records, SSH: ssh})
}

func TestWithoutKubeVirt(t *testing.T) {
	cluster(t)
	_, err := openMachine(t, t.TempDir(), "kube:vm?boot=x&emptydisk&namespace="+space(t))
	if lab.KindOf(err) != lab.Refused || !strings.Contains(err.Error(), "the cluster has no KubeVirt") {
		t.Errorf("%v", err)
	}
}

// What is refused before anything is made.
func machinesThatCantBe(t *testing.T) {
	namespace := machineSpace(t)
	for options, want := range map[string]string{
		"class=gone":                    "there is no StorageClass gone",
		"claim=gone":                    "there is no claim gone",
		"emptydisk&node=gone":           "there is no node gone",
		"class=fast&size=1Ti":           "none of mode Block with 1Ti is free",
		"emptydisk&namespace=elsewhere": "there is no namespace elsewhere",
	} {
		name := "kube:vm?boot=x&" + options
		if !strings.Contains(options, "namespace") {
			name += "&namespace=" + namespace
		}
		if _, err := openMachine(t, t.TempDir(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", options, err)
		}
	}
	// A KubeVirt that is too old says so by its version.
	kubectl(t, `{apiVersion: kubevirt.io/v1, kind: KubeVirt, metadata: {name: kubevirt}, spec: {}}`, "create", "-n",
		namespace, "-f", "-")
	defer kubectl(t, "", "delete", "kubevirt", "-n", namespace, "kubevirt")
	kubectl(t, "", "patch", "kubevirt", "-n", namespace, "kubevirt", "--subresource", "status", "--type", "merge",
		"--patch", `{"status": {"observedKubeVirtVersion": "v1.4.0", "phase": "Deployed"}}`)
	if _, err := openMachine(t, t.TempDir(),
		"kube:vm?boot=x&class=fast&size=1Gi&iothreads=2&namespace="+namespace); err == nil ||
		!strings.Contains(err.Error(), "KubeVirt v1.4.0 has no supplementalPool") {
		t.Errorf("%v", err)
	}
	if left := leftOfMachines(t, namespace); left != "" {
		t.Errorf("%s was made", left)
	}
}

// Without a controller nothing ever starts. What was made is removed, and if headroom is killed meanwhile it goes by
// itself: the controllers of Kubernetes that see to that are real.
func aMachineThatIsAbandoned(t *testing.T) {
	namespace := machineSpace(t)
	name := "kube:vm?boot=x&class=fast&size=1Gi&wait=2s&namespace=" + namespace
	records := t.TempDir()
	_, err := openMachine(t, records, name)
	if err == nil || !strings.Contains(err.Error(), "has not started after 2s") {
		t.Errorf("%v", err)
	}
	if left := leftOfMachines(t, namespace); left != "" {
		t.Errorf("%s is left of a machine that did not start", left)
	}
	if left, err := os.ReadDir(records); err != nil || len(left) != 0 {
		t.Errorf("%v is left on disk, %v", left, err)
	}
	// killed is a test binary that makes a machine, and is killed while it waits.
	killed := exec.Command(os.Args[0], "-test.run", "^TestMachineToBeKilled$")
	killed.Env = append(os.Environ(),
		"HEADROOM_TEST_MACHINE=kube:vm?boot=x&class=fast&size=1Gi&deadline=15s&namespace="+namespace,
		"HEADROOM_TEST_RECORDS="+records)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); strings.Count(leftOfMachines(t, namespace), "\n") <
		4; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it makes only %q", leftOfMachines(t, namespace))
		}
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	for end := time.Now().Add(2 * time.Minute); leftOfMachines(t, namespace) != ""; time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatalf("after its deadline there is still %q", leftOfMachines(t, namespace))
		}
	}
	left, err := kube.Pending(records, func(string) error { return nil })
	if err != nil || len(left) != 1 {
		t.Fatalf("%v, %v", left, err)
	}
	if removed, err := kube.Clear(t.Context(), left[0].Record); err != nil || len(removed) != 0 {
		t.Errorf("removed %v, %v", removed, err)
	}
	if err := left[0].Remove(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(records); err != nil || len(left) != 0 {
		t.Errorf("%v is left on disk, %v", left, err)
	}
}

// TestMachineToBeKilled is what another test starts and kills.
func TestMachineToBeKilled(t *testing.T) {
	name := os.Getenv("HEADROOM_TEST_MACHINE")
	if name == "" {
		t.Skip("another test starts it")
	}
	_, err := openMachine(t, os.Getenv("HEADROOM_TEST_RECORDS"), name)
	t.Errorf("it was not killed: %v", err)
}

// standIn starts a stand-in for KubeVirt's controllers for a namespace of the test's own.
func standIn(t *testing.T) (virt *standin.KubeVirt, namespace string) {
	t.Helper()
	image := cluster(t)
	for _, tool := range []string{"qemu-system-x86_64", "busybox", "apt-get", "/usr/sbin/sshd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	said := map[string]string{}
	for script, arguments := range map[string][]string{"guest-kernel": {"linux-image-amd64"}, "guest-qemu": nil} {
		said[script] = printed(t, script, arguments...)
	}
	root := said["guest-qemu"]
	namespace = machineSpace(t)
	return standin.Start(t, standin.Options{Kubeconfig: os.Getenv("KUBECONFIG"), Namespace: namespace, Image: image,
		Kernel: said["guest-kernel"], Port: standInPort,
		QEMU:     root + "/usr/bin/qemu-system-x86_64",
		Firmware: []string{root + "/usr/share/qemu", root + "/usr/share/seabios"}}), namespace
}

// printed is what a script of the tree prints.
func printed(t *testing.T, script string, arguments ...string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join("../../../scripts", script), arguments...).Output()
	if err != nil {
		t.Skipf("scripts/%s: %v", script, err)
	}
	return strings.TrimSpace(string(out))
}

// giveBack makes the volumes of a namespace's deleted claims available again, and empties those that are devices.
func giveBack(t *testing.T, namespace string) {
	t.Helper()
	for line := range strings.Lines(kubectl(t, "", "get", "pv", "-o",
		`jsonpath={range .items[*]}{.spec.volumeMode} {.spec.local.path} {.spec.claimRef.namespace}{"\n"}{end}`)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[2] != namespace || f[0] != "Block" {
			continue
		}
		if out, err := exec.Command("blkdiscard", "-z", f[1]).CombinedOutput(); err != nil {
			t.Errorf("blkdiscard %s: %s", f[1], out)
		}
	}
	kubetest.Start(t).ReleaseNamespace(t, namespace)
}

// standInPort is that at which guests of the stand-in are reached; 22 may be this machine's own.
const standInPort = 10022

// A machine of the stand-in starts, is started again with other IOThreads, which the QEMU behind it has, keeps what is
// on its disk, is lost and had again, and leaves nothing.
func aMachine(t *testing.T) {
	virt, namespace := standIn(t)
	image := cluster(t)
	defer giveBack(t, namespace)
	jump := sshtest.Start(t) // another host, by which addresses of machines are reached
	m, err := openMachine(t, t.TempDir(),
		"kube:vm?boot="+image+"&pull=never&class=fast&size=1Gi&memory=512Mi&port=10022&iothreads=3&multiqueue&through=ssh://under-test&namespace="+namespace, "-F", jump.Config)
	if err != nil {
		t.Fatalf("%v\n%s", err, details(err))
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if left := leftOfMachines(t, namespace); left != "" {
			t.Errorf("%s is left", left)
		}
	}()
	run := func(script string) string {
		t.Helper()
		out, err := m.Run(t.Context(), "sh", "-c", script)
		if err != nil || out.ExitCode != 0 {
			t.Fatalf("%s: %v\n%s", script, err, out.Stderr)
		}
		return strings.TrimSpace(string(out.Stdout))
	}
	threads := func(want int) {
		t.Helper()
		argvs := virt.Argvs()
		if len(argvs) == 0 {
			t.Fatal("no guest came up")
		}
		argv := argvs[len(argvs)-1]
		if n := strings.Count(strings.Join(argv, " "), "-object iothread,"); n != want {
			t.Errorf("%d IOThreads, not %d: %q", n, want, argv)
		}
	}
	threads(3)
	if host := run("hostname"); !strings.HasPrefix(host, "headroom-") || m.Node() != "node1" ||
		m.TestPath() != "/dev/disk/by-id/headroom-disk" {
		t.Errorf("host %s on node %s, disk %s", host, m.Node(), m.TestPath())
	}
	device := run("readlink -f " + m.TestPath())
	if blank, err := m.MadeBlank(t.Context(), device); err != nil || !blank {
		t.Errorf("%s was made for it: %v, %v", device, blank, err)
	}
	if blank, err := m.MadeBlank(t.Context(), "/dev/sda"); err != nil || blank {
		t.Errorf("another disk was made for it: %v, %v", blank, err)
	}
	run("echo kept | dd of=" + m.TestPath() + " conv=fsync 2>/dev/null")
	boot := run("cat /proc/sys/kernel/random/boot_id")
	if err := m.Boot(t.Context(), host.BootSpec{Machine: map[string]string{"iothreads": "0", "cpus": "1"}}); err !=
		nil {
		t.Fatalf("%v\n%s", err, details(err))
	}
	threads(0)
	if again := run("cat /proc/sys/kernel/random/boot_id"); again == boot || run("nproc") != "1" ||
		run("dd if="+m.TestPath()+" bs=4 count=1 2>/dev/null") != "kept" {
		t.Errorf("boot %s then %s, %s CPUs", boot, again, run("nproc"))
	}
	if err := m.Boot(t.Context(), host.BootSpec{Arguments: []string{"quiet"}}); lab.KindOf(err) != lab.Usage {
		t.Errorf("an argument of its kernel: %v", err)
	}
	if err := m.Lost(t.Context()); err != nil {
		t.Error(err)
	}
	name, _ := m.MachineName()
	kubectl(t, "", "delete", "vmi", "-n", namespace, name)
	if err := m.Lost(t.Context()); !errors.Is(err, host.ErrGone) {
		t.Errorf("its instance was deleted: %v", err)
	}
	if err := m.Replace(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, details(err))
	}
	if run("dd if="+m.TestPath()+" bs=4 count=1 2>/dev/null") != "kept" {
		t.Error("its disk went with the instance")
	}
	threads(0)
}

// A disk that is an image in the file system of a claim, and is on the bus sata, is the disk under test as any other
// is, and is the same one on another bus. The machine is reached by virtctl, which is KubeVirt's own, and the API
// server.
func aMachineOnAFile(t *testing.T) {
	virt, namespace := standIn(t)
	defer giveBack(t, namespace)
	servePortForward(t, virt, namespace)
	m, err := openMachine(t, t.TempDir(),
		"kube:vm?boot="+cluster(
			t)+"&pull=never&class=fast&size=1Gi&mode=filesystem&bus=sata&memory=512Mi&port=10022&through=virtctl&namespace="+namespace)
	if err != nil {
		t.Fatalf("%v\n%s", err, details(err))
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	run := func(script string) string {
		t.Helper()
		out, err := m.Run(t.Context(), "sh", "-c", script)
		if err != nil || out.ExitCode != 0 {
			t.Fatalf("%s: %v\n%s", script, err, out.Stderr)
		}
		return strings.TrimSpace(string(out.Stdout))
	}
	on := func(parts ...string) {
		t.Helper()
		argvs := virt.Argvs()
		for _, part := range parts {
			if argv := argvs[len(argvs)-1]; !strings.Contains(strings.Join(argv, " "), part) {
				t.Errorf("no %s in %q", part, argv)
			}
		}
	}
	on("ide-hd", "/disk.img")
	if at := run("readlink -f /sys/class/block/$(basename $(readlink -f " + m.TestPath() + "))"); !strings.Contains(at,
		"/ata") {
		t.Errorf("the disk is at %s", at)
	}
	if printed := m.Caveats(t.Context()); !slices.ContainsFunc(printed, func(text string) bool {
		return strings.Contains(text, "image in a file system of its claim")
	}) {
		t.Errorf("nothing of its file system in %q", printed)
	}
	run("echo kept | dd of=" + m.TestPath() + " conv=fsync 2>/dev/null")
	if err := m.Boot(t.Context(),
		host.BootSpec{Machine: map[string]string{"bus": "virtio", "iothreads": "2"}}); err != nil {
		t.Fatalf("%v\n%s", err, details(err))
	}
	on("virtio-blk-pci", "iothread-vq-mapping", "/disk.img")
	if was := run("dd if=" + m.TestPath() + " bs=4 count=1 2>/dev/null"); was != "kept" {
		t.Errorf("it holds %q on another bus", was)
	}
	argvs := virt.Argvs()
	image := regexp.MustCompile(`/proc/[0-9]+/root/[^"]*/disk\.img`).FindString(strings.Join(argvs[len(argvs)-1], " "))
	if err := os.Remove(image); err != nil { // the volume is another claim's next
		t.Error(err)
	}
}

// What KubeVirt and Kubernetes say of a machine that does not start is said, with the way out.
func machinesThatDoNotStart(t *testing.T) {
	_, namespace := standIn(t)
	image := cluster(t)
	for options, want := range map[string][]string{
		"boot=localhost/gone:1&pull=missing&emptydisk&wait=2m": {"did not start: ImagePullBackOff",
			"check the name of the container disk"},
		"boot=" + image + "&pull=never&emptydisk&selector=disk=gone&wait=8s": {
			"has not started after 8s: ErrorUnschedulable", "check node= and selector="},
	} {
		_, err := openMachine(t, t.TempDir(), "kube:vm?"+options+"&memory=512Mi&port=10022&namespace="+namespace)
		if err == nil {
			t.Errorf("%s starts", options)
			continue
		}
		for _, text := range want {
			if !strings.Contains(err.Error()+"\n"+details(err), text) {
				t.Errorf("%s: nothing of %q in %v\n%s", options, text, err, details(err))
			}
		}
	}
}
