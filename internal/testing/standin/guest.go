package standin

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/headroom/headroom/internal/host/qemu"
)

// guest is a QEMU guest for an instance, while it starts and while it runs.
type guest struct {
	// address on the loopback at which it is reached once it has started, by a listener that forwards to its own port.
	address string
	listen  net.Listener
	started chan struct{}
	guest   *qemu.Guest
	err     error
	cancel  context.CancelFunc
	once    sync.Once
}

// state reports whether the start has finished, and its error.
func (g *guest) state() (done bool, err error) {
	select {
	case <-g.started:
		return true, g.err
	default:
		return false, nil
	}
}

// begin starts the guest of an instance.
func (k *KubeVirt) begin(ctx context.Context, instance *unstructured.Unstructured) error {
	description, err := k.describe(ctx, instance)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.started++
	g := &guest{started: make(chan struct{})}
	k.guests[string(instance.GetUID())] = g
	if err != nil {
		g.err = err
		close(g.started)
		return nil
	}
	file := filepath.Join(k.folder, fmt.Sprintf("guest-%d.yaml", k.started))
	if err := os.WriteFile(file, []byte(description), 0o600); err != nil {
		return err
	}
	starting, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	go func() {
		defer close(g.started)
		if g.guest, g.err = qemu.Open(starting, "qemu:"+file, file,
			qemu.Host{Folder: k.folder, Images: k.folder}); g.err != nil {
			return
		}
		k.mu.Lock()
		k.argvs = append(k.argvs, g.guest.Argv())
		k.mu.Unlock()
		if g.err = g.listenAt(k.options.Port); g.err == nil {
			go g.handOn()
		}
	}()
	return nil
}

// listenAt takes the first free loopback address for a port: other stand-ins, of this test and of others, take theirs
// at the same time.
func (g *guest) listenAt(port int) error {
	for n := range 100 * 250 {
		var err error
		g.address = fmt.Sprintf("127.88.%d.%d", n/250, n%250+1)
		if g.listen, err = net.Listen("tcp4", net.JoinHostPort(g.address, strconv.Itoa(port))); !errors.Is(err,
			syscall.EADDRINUSE) {
			return err
		}
	}
	return fmt.Errorf("no address of the loopback is free at port %d", port)
}

// handOn forwards connections from the guest's address to the guest.
func (g *guest) handOn() {
	for {
		from, err := g.listen.Accept()
		if err != nil {
			return
		}
		go func() {
			defer from.Close()
			to, err := net.Dial("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(g.guest.Port())))
			if err != nil {
				return
			}
			defer to.Close()
			go func() {
				_, _ = io.Copy(to, from)
				_ = to.Close()
			}()
			_, _ = io.Copy(from, to)
		}()
	}
}

// Address returns the address of an instance's guest, on the loopback of this machine.
func (k *KubeVirt) Address(ctx context.Context, name string) (string, error) {
	instance, err := k.of("virtualmachineinstances", k.options.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	k.mu.Lock()
	g := k.guests[string(instance.GetUID())]
	k.mu.Unlock()
	if g == nil {
		return "", errors.New("the instance has no guest")
	}
	if done, err := g.state(); !done || err != nil {
		return "", errors.Join(errors.New("the guest does not run"), err)
	}
	return g.address, nil
}

// stop ends a guest, whether it has started or not.
func (k *KubeVirt) stop(uid string) {
	k.mu.Lock()
	g := k.guests[uid]
	k.mu.Unlock()
	if g == nil {
		return
	}
	g.once.Do(func() {
		if g.cancel != nil {
			g.cancel()
		}
		<-g.started
		if g.listen != nil {
			_ = g.listen.Close()
		}
		if g.guest != nil {
			if err := g.guest.Close(); err != nil {
				k.t.Logf("the stand-in: %v", err)
			}
		}
	})
	k.mu.Lock()
	delete(k.guests, uid)
	k.mu.Unlock()
}

func (k *KubeVirt) endAll() {
	k.mu.Lock()
	var uids []string
	for uid := range k.guests {
		uids = append(uids, uid)
	}
	k.mu.Unlock()
	for _, uid := range uids {
		k.stop(uid)
	}
}

// describe returns the file of a guest that corresponds to an instance.
func (k *KubeVirt) describe(ctx context.Context, instance *unstructured.Unstructured) (string, error) {
	cores, _, _ := unstructured.NestedInt64(instance.Object, "spec", "domain", "cpu", "cores")
	memory, err := resource.ParseQuantity(text(instance.Object, "spec", "domain", "memory", "guest"))
	if err != nil {
		return "", err
	}
	setup, err := k.seed(ctx, instance)
	if err != nil {
		return "", err
	}
	f := object{"version": 1, "kernel": k.options.Kernel, "cpus": cores,
		"memory": fmt.Sprintf("%dm", memory.Value()>>20), "setup": setup, "limit": "8m"}
	if k.options.QEMU != "" {
		f["qemu"], f["firmware"] = k.options.QEMU, k.options.Firmware
	}
	list, _, _ := unstructured.NestedSlice(instance.Object, "spec", "domain", "devices", "disks")
	var disks []any
	for _, d := range list {
		one := d.(object)
		if text(one, "serial") == "" {
			continue // its boot disk, and the one with its keys
		}
		disk, err := k.disk(ctx, instance, one, cores)
		if err != nil {
			return "", err
		}
		disks = append(disks, disk)
	}
	if len(disks) > 0 {
		f["disks"] = disks
	}
	out, err := yaml.Marshal(f)
	return string(out), err
}

// disk returns one disk as KubeVirt would give it to the guest: the number of IOThreads and queues follows its
// converter (setIOThreads and numBlkQueues in pkg/virt-launcher/virtwrap/converter of v1.6.0).
func (k *KubeVirt) disk(ctx context.Context, instance *unstructured.Unstructured, disk object, cores int64) (object,
	error) {
	kinds := map[string]string{"virtio": "virtio-blk", "scsi": "virtio-scsi", "sata": "sata"}
	d := object{"name": text(disk, "serial"), "kind": kinds[text(disk, "disk", "bus")]}
	if d["kind"] == "" {
		return nil, fmt.Errorf("the stand-in has no bus %q", text(disk, "disk", "bus"))
	}
	if cache := text(disk, "cache"); cache != "" {
		d["cache"] = cache
	}
	d["aio"] = "threads"
	if mode := text(disk, "io"); mode != "" {
		d["aio"] = mode
	}
	if many, _, _ := unstructured.NestedBool(instance.Object, "spec", "domain", "devices", "blockMultiQueue"); many {
		d["queues"] = cores
	}
	threads := int64(0)
	policy := text(instance.Object, "spec", "domain", "ioThreadsPolicy")
	own, _, _ := unstructured.NestedBool(disk, "dedicatedIOThread")
	switch {
	case policy == "supplementalPool":
		threads, _, _ = unstructured.NestedInt64(instance.Object, "spec", "domain", "ioThreads",
			"supplementalPoolThreadCount")
	case policy != "" && d["kind"] == "virtio-blk", own:
		threads = 1
	}
	if d["kind"] != "sata" { // which has none
		d["iothreads"] = threads
	}
	volumes, _, _ := unstructured.NestedSlice(instance.Object, "spec", "volumes")
	for _, v := range volumes {
		one := v.(object)
		if text(one, "name") != text(disk, "name") {
			continue
		}
		if capacity := text(one, "emptyDisk", "capacity"); capacity != "" {
			size, err := resource.ParseQuantity(capacity)
			d["size"] = strconv.FormatInt(size.Value(), 10)
			return d, err
		}
		path, err := k.volume(ctx, instance, text(one, "name"), text(one, "persistentVolumeClaim", "claimName"))
		d["file"] = path
		return d, err
	}
	return nil, errors.New("no volume is of disk " + text(disk, "name"))
}

// volume returns the device of the local volume of a claim, or an image in its file system, which is created if
// missing.
func (k *KubeVirt) volume(ctx context.Context, instance *unstructured.Unstructured, name, claim string) (string,
	error) {
	c, err := k.of("persistentvolumeclaims", instance.GetNamespace()).Get(ctx, claim, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if text(c.Object, "spec", "volumeMode") == "Filesystem" {
		capacity, err := resource.ParseQuantity(text(c.Object, "status", "capacity", "storage"))
		if err != nil {
			return "", err
		}
		return k.image(ctx, instance, name, capacity.Value())
	}
	v, err := k.client.Resource(resourceOf("", "v1", "persistentvolumes")).Get(ctx,
		text(c.Object, "spec", "volumeName"), metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return text(v.Object, "spec", "local", "path"), nil
}

// diskFolders is where KubeVirt mounts file systems of claims in the pod of an instance (pkg/host-disk/host-disk.go of
// v1.6.0), except for /var/run: that is a link, which would lead to the folder of this machine.
const diskFolders = "/run/kubevirt-private/vmi-disks/"

// image returns the image in a file system that is mounted in the pod of an instance, with the size of the claim or of
// the free space there, as KubeVirt makes it. The node mounts it in separate namespaces, which the kernel makes
// accessible through each process of the pod.
func (k *KubeVirt) image(ctx context.Context, instance *unstructured.Unstructured, name string, size int64) (string,
	error) {
	pod, err := k.launcher(ctx, instance)
	if err != nil || pod == nil {
		return "", errors.Join(err, errors.New("the instance has no pod"))
	}
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return "", err
	}
	for _, group := range groups {
		text, err := os.ReadFile(group)
		if err != nil || !strings.Contains(string(text), "pod"+string(pod.GetUID())) {
			continue // it has ended meanwhile, or belongs to another pod
		}
		folder := filepath.Join(filepath.Dir(group), "root", diskFolders, name)
		var space unix.Statfs_t
		if err := unix.Statfs(folder, &space); errors.Is(err, os.ErrNotExist) {
			continue // the container of another image
		} else if err != nil {
			return "", err
		}
		image := filepath.Join(folder, "disk.img")
		if _, err := os.Stat(image); err == nil {
			return image, nil
		}
		f, err := os.Create(image)
		if err != nil {
			return "", err
		}
		const whole = 1 << 20
		return image, errors.Join(f.Truncate(min(size, int64(space.Bavail)*space.Bsize)/whole*whole), f.Close())
	}
	return "", fmt.Errorf("no process of the pod %s has %s", pod.GetName(), name)
}

// seed returns what the guest does with its cloud-init data: it authorises, and identifies itself by, the keys. A
// separate key of another type, which the stand-in uses to start it, is added.
func (k *KubeVirt) seed(ctx context.Context, instance *unstructured.Unstructured) (string, error) {
	volumes, _, _ := unstructured.NestedSlice(instance.Object, "spec", "volumes")
	for _, v := range volumes {
		name := text(v.(object), "cloudInitNoCloud", "secretRef", "name")
		if name == "" {
			continue
		}
		secret, err := k.of("secrets", instance.GetNamespace()).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		data, err := base64.StdEncoding.DecodeString(text(secret.Object, "data", "userdata"))
		if err != nil {
			return "", err
		}
		var reported struct {
			Keys []string          `yaml:"ssh_authorized_keys"`
			Own  map[string]string `yaml:"ssh_keys"`
			Root *bool             `yaml:"disable_root"`
		}
		if !strings.HasPrefix(string(data), "#cloud-config\n") {
			return "", errors.New("the user data is not for cloud-init")
		}
		if err := yaml.Unmarshal(data, &reported); err != nil {
			return "", err
		}
		if len(reported.Keys) == 0 || reported.Own["ecdsa_private"] == "" || reported.Root == nil || *reported.Root {
			return "", errors.New("the user data authorizes no key, or has no key of the machine")
		}
		return fmt.Sprintf("cat >>/etc/ssh/authorized_keys <<'END'\n%s\nEND\ncat >/etc/ssh/host_ecdsa <<'END'\n"+
			"%sEND\nchmod 600 /etc/ssh/host_ecdsa\nsed -i '1i HostKey /etc/ssh/host_ecdsa' /etc/ssh/sshd_config\n"+
			"hostname %s\n", strings.Join(reported.Keys, "\n"), reported.Own["ecdsa_private"],
			text(instance.Object, "spec", "hostname")), nil
	}
	return "", errors.New("there is no disk with user data")
}
