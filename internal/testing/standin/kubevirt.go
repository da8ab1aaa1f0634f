// Package standin is a stand-in for KubeVirt's controllers, for tests only: a cluster has KubeVirt's resource
// definitions but no KubeVirt. The stand-in handles virtualmachines as KubeVirt does, as far as headroom sees it: it
// makes their instances, and pods that hold their volumes on a node, and sets the status of both. For each it starts a
// real QEMU guest, with the disks, buses, caches, queues and IOThreads of the specification. It differs from KubeVirt
// in this:
//
//   - guests run on the machine of the test and not in their pods, under emulation, and are reached at an address of
//     its loopback;
//   - they start a kernel of the machine directly: a container disk is pulled as an image, and its content is ignored;
//   - of cloud-init it supports only keys, and of disks claims and emptyDisk;
//   - there are no webhooks: only the schema refuses anything, and no defaults are filled in.
package standin

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// Options of a stand-in.
type Options struct {
	// Kubeconfig of a cluster with KubeVirt's resource definitions.
	Kubeconfig string
	// Namespace whose machines it handles: other tests may use another namespace at the same time, or none.
	Namespace string
	// Image of the pods that hold volumes, which the node has.
	Image string
	// Kernel that guests start, as named in a guest's file.
	Kernel string
	// QEMU is the program, and Firmware its folders; empty for the machine's own.
	QEMU     string
	Firmware []string
	// Port at which guests are reached.
	Port int
}

// KubeVirt is the stand-in.
type KubeVirt struct {
	t       *testing.T
	options Options
	client  dynamic.Interface
	// folder holds the descriptions of guests.
	folder string

	mu sync.Mutex
	// guests by the UID of their instance.
	guests map[string]*guest
	// started is the number of guests, and argvs are the command lines of those that came up.
	started int
	argvs   [][]string
}

type object = map[string]any

// finalizer keeps an instance until its guest has ended, and machineFinalizer a machine until its instance is gone.
// Source: VirtualMachineControllerFinalizer of kubevirt.io/api, and its use in pkg/virt-controller/watch/vm of v1.6.0.
// Without it Kubernetes' garbage collector would have to find the instance, which takes long in a cluster whose
// resource definitions have just been made.
const (
	finalizer        = "headroom.dev/stand-in"
	machineFinalizer = "kubevirt.io/virtualMachineControllerFinalize"
)

func resourceOf(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

// Start runs a stand-in until the test ends.
func Start(t *testing.T, o Options) *KubeVirt {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 100, 200
	// requests are sequential, and none may wait for ever
	config.Timeout = 30 * time.Second
	k := &KubeVirt{t: t, options: o, folder: filepath.Join(t.TempDir(), "guests"), guests: map[string]*guest{}}
	if err := os.Mkdir(k.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if k.client, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() {
		for ctx.Err() == nil {
			k.work(ctx)
			time.Sleep(300 * time.Millisecond)
		}
	})
	t.Cleanup(func() {
		cancel()
		working.Wait()
		k.endAll()
		k.letGo(context.Background())
	})
	return k
}

// letGo reports what is left when the test ends, and why, and releases it: without a stand-in it would not end, and
// neither its namespace nor the resource definitions could be removed for the next test.
func (k *KubeVirt) letGo(ctx context.Context) {
	for _, kind := range []string{"virtualmachines", "virtualmachineinstances"} {
		list, err := k.of(kind, k.options.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			k.t.Errorf("the stand-in: %v", err)
			return
		}
		for _, left := range list.Items {
			pod, err := k.launcher(ctx, &left)
			k.t.Errorf("the stand-in: %s %s is left: removed at %v, status %v; its pod: %v, %v", kind, left.GetName(),
				left.GetDeletionTimestamp(), left.Object["status"], pod, err)
			left.SetFinalizers(nil)
			if _, err := k.of(kind, left.GetNamespace()).Update(ctx, &left, metav1.UpdateOptions{}); err != nil &&
				!apierrors.IsNotFound(err) {
				k.t.Errorf("the stand-in: %v", err)
			}
		}
	}
}

// Argvs returns the command lines of QEMU for all guests that came up, in their order.
func (k *KubeVirt) Argvs() [][]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.argvs)
}

// work advances everything by one step. A failed step is retried the next time, as controllers do.
func (k *KubeVirt) work(ctx context.Context) {
	machines, err := k.of("virtualmachines", k.options.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, m := range machines.Items {
		k.say(ctx, k.machine(ctx, m.Object, m.GetNamespace(), m.GetName()))
	}
	instances, err := k.of("virtualmachineinstances", k.options.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, i := range instances.Items {
		k.say(ctx, k.instance(ctx, i.DeepCopy()))
	}
}

func (k *KubeVirt) say(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		k.t.Logf("the stand-in: %v", err)
	}
}

func (k *KubeVirt) of(kind, namespace string) dynamic.ResourceInterface {
	switch kind {
	case "virtualmachines", "virtualmachineinstances":
		return k.client.Resource(resourceOf("kubevirt.io", "v1", kind)).Namespace(namespace)
	}
	return k.client.Resource(resourceOf("", "v1", kind)).Namespace(namespace)
}

func text(of object, fields ...string) string {
	s, _, _ := unstructured.NestedString(of, fields...)
	return s
}

// machine makes or removes the instance of a machine, according to its strategy, and sets its status.
func (k *KubeVirt) machine(ctx context.Context, machine object, namespace, name string) error {
	instance, err := k.of("virtualmachineinstances", namespace).Get(ctx, name, metav1.GetOptions{})
	there := err == nil
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	is := &unstructured.Unstructured{Object: machine}
	leaving := there && instance.GetDeletionTimestamp() != nil
	removed, halted := is.GetDeletionTimestamp() != nil, text(machine, "spec", "runStrategy") == "Halted"
	if kept := slices.Contains(is.GetFinalizers(), machineFinalizer); removed && !there || !removed && !kept {
		is.SetFinalizers(nil)
		if !removed {
			is.SetFinalizers([]string{machineFinalizer})
		}
		_, err := k.of("virtualmachines", namespace).Update(ctx, is, metav1.UpdateOptions{})
		return err
	}
	if there && !leaving && (removed || halted) {
		if err := k.of("virtualmachineinstances", namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	printable, ready := "Stopped", false
	switch {
	case removed:
		printable = "Terminating"
	case halted:
		if there {
			printable = "Stopping"
		}
	case !there:
		printable = "Starting"
		if err := k.makeInstance(ctx, machine, namespace, name); err != nil {
			return err
		}
	case leaving:
		printable = "Stopping"
	default:
		printable, ready = k.printable(ctx, instance)
	}
	if text(machine, "status", "printableStatus") == printable {
		return nil
	}
	condition := object{"type": "Ready", "status": "False", "lastProbeTime": nil, "lastTransitionTime": now()}
	if ready {
		condition["status"] = "True"
	}
	is.Object["status"] = object{"printableStatus": printable, "ready": ready, "created": there,
		"conditions": []any{condition}}
	_, err = k.of("virtualmachines", namespace).UpdateStatus(ctx, is, metav1.UpdateOptions{})
	return err
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }
