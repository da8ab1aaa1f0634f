// Package kubetest starts a Kubernetes cluster of one node for a test.
package kubetest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Cluster is a cluster of one node, "node1", that scripts/kube-cluster made.
type Cluster struct {
	// Kubeconfig is the file that authenticates as the administrator.
	Kubeconfig string
	// Image is the image of the Containerfile, which the node has; pods name it with imagePullPolicy: Never.
	Image string
	// Dir is the cluster's folder, which the node sees as /run. Logs are in log/.
	Dir     string
	kubectl string
}

// Start returns a cluster that ends with the test: a separate one, or the one shared by all tests (make test-kube),
// which saves each of them a start. A test without root is skipped.
func Start(t *testing.T) *Cluster {
	t.Helper()
	// Prints the data of the cluster and ends with the test, however that ends.
	argv := []string{"sh", "-c",
		`printf '%s\n' "$KUBECONFIG" "$HEADROOM_KUBE_IMAGE" "$HEADROOM_KUBE_DIR" "$(command -v kubectl)"; exec cat`}
	if os.Getenv("HEADROOM_KUBE_DIR") == "" {
		if os.Getuid() != 0 {
			t.Skip("a cluster needs root")
		}
		argv = append([]string{script(t)}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	var printed bytes.Buffer
	cmd.Stderr = &printed
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("scripts/kube-cluster: %v\n%s", err, printed.String())
		}
	})
	var known [4]string
	lines := bufio.NewScanner(stdout)
	for i := range known {
		if !lines.Scan() {
			t.Fatal("there is no cluster; it says why below")
		}
		known[i] = lines.Text()
	}
	return &Cluster{Kubeconfig: known[0], Image: known[1], Dir: known[2], kubectl: known[3]}
}

// Command returns kubectl with these arguments, not started.
func (c *Cluster) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(c.kubectl, append([]string{"--kubeconfig", c.Kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(c.Dir, "kubectl"))
	return cmd
}

// Kubectl runs kubectl with some standard input, "" for none, and returns what it prints.
func (c *Cluster) Kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := c.Command(args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// Claim claims a volume of 1 GiB of the StorageClass "fast" or "slow" for the test: one with a file system, or a
// "Block" device. Pods that use it must be deleted before the test ends. The next claim finds on the volume what this
// one left there.
func (c *Cluster) Claim(t *testing.T, name, class, mode string) {
	t.Helper()
	c.Kubectl(t, fmt.Sprintf(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %q},
		spec: {storageClassName: %q, volumeMode: %q, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`, name, class, mode), "apply", "--filename", "-")
	t.Cleanup(func() {
		volume := c.Kubectl(t, "", "get", "pvc", name, "--output", "jsonpath={.spec.volumeName}")
		c.Kubectl(t, "", "delete", "pvc", name)
		if volume == "" {
			return
		}
		c.Kubectl(t, "", "wait", "pv/"+volume, "--for", "jsonpath={.status.phase}=Released", "--timeout", "1m")
		c.Kubectl(t, "", "patch", "pv", volume, "--patch", `{"spec": {"claimRef": null}}`)
	})
}

// Disturb stops ("STOP") or kills ("KILL") a program of the node, "kubelet", "kube-apiserver" or
// "kube-controller-manager", until the returned function is called, or the test ends. That function returns when the
// node accepts pods again.
func (c *Cluster) Disturb(t *testing.T, program, signal string) (over func()) {
	t.Helper()
	tell := func(word string) {
		// The node waits there for the next word: test/cluster/node.
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			f, err := os.OpenFile(filepath.Join(c.Dir, "control", program), os.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err == nil {
				_, err = f.WriteString(word + "\n")
				err = errors.Join(err, f.Close())
			}
			if err == nil {
				return
			}
			if time.Now().After(end) {
				t.Errorf("%s does not hear: %v", program, err)
				return
			}
		}
	}
	tell(signal)
	over = sync.OnceFunc(func() {
		tell("CONT")
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
			out, err := c.Command("get", "node", "node1", "--output",
				`jsonpath={.status.conditions[?(@.type=="Ready")].status} {.spec.taints}`).CombinedOutput()
			if err == nil && string(out) == "True " {
				return
			}
			if time.Now().After(end) {
				t.Errorf("the node does not come back: %s", out)
				return
			}
		}
	})
	t.Cleanup(over)
	return over
}

// Network runs a command of this machine in the network of the node, where the other ends of the pods' interfaces are,
// and returns what it prints.
func (c *Cluster) Network(t *testing.T, argv ...string) string {
	t.Helper()
	// Its kubelet gets the number of the cluster, which is in the folder's name.
	cgroup := "--cgroup-root\x00/headroom-kube-" + strings.TrimPrefix(filepath.Base(c.Dir), "cluster-") + "\x00"
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(line), "kubelet\x00") ||
			!strings.Contains(string(line)+"\x00", cgroup) {
			continue
		}
		out, err := exec.Command("nsenter", append([]string{"--net=" + filepath.Join(filepath.Dir(path), "ns", "net")},
			argv...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
		}
		return string(out)
	}
	t.Fatal("no kubelet of the cluster runs")
	return ""
}

// ReleaseNamespace makes the volumes of a namespace's claims, which are being deleted, available again. The next claim
// finds what was left on them.
func (c *Cluster) ReleaseNamespace(t *testing.T, namespace string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		taken := false
		for line := range strings.Lines(c.Kubectl(t, "", "get", "pv", "--output",
			`jsonpath={range .items[*]}{.metadata.name} {.status.phase} {.spec.claimRef.namespace}{"\n"}{end}`)) {
			fields := strings.Fields(line)
			if len(fields) < 3 || fields[2] != namespace {
				continue
			}
			if taken = true; fields[1] == "Released" {
				c.Kubectl(t, "", "patch", "pv", fields[0], "--patch", `{"spec": {"claimRef": null}}`)
			}
		}
		if !taken {
			return
		}
		if time.Now().After(end) {
			t.Error("a volume is not given back")
			return
		}
	}
}

// script is scripts/kube-cluster of this tree, above the folder of the test's package.
func script(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if path := filepath.Join(dir, "scripts", "kube-cluster"); isFile(path) {
			return path
		}
	}
	t.Fatal("no scripts/kube-cluster above this package")
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
