package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Pod is a pod that was made to be measured. It is the shell in its container for everything but its life.
type Pod struct {
	*host.Shell
	request request
	cluster *cluster
	record  *sessionRecord

	mu sync.Mutex
	// tries is how many pods there were, pod the name of the present one, node where it runs. cpu and memory are the
	// limits that it was started with: others may be asked for, and not be there yet.
	tries       int
	pod, node   string
	cpu, memory Range
	claimUID    types.UID
	// user is who the user in the container was found to be; rested says that the last connection was given back, and
	// not lost.
	user         *identity
	disconnected bool
}

// identity is a user: the number, and the home folder.
type identity struct {
	uid  int
	home string
}

// Host is what is needed of this machine.
type Host struct {
	// Records is the folder with the names of all that was made, so that it can be removed after a crash.
	Records string
	// Report is called with the progress; nil reports nothing.
	Report func(text string)
	// SSH are arguments of the user's own ssh, where a machine is reached through another host: "-F", FILE.
	SSH []string
}

// Open makes a pod and returns when commands can be carried out in it. Nothing is made before the preflight has passed,
// and what was made is removed when it does not start.
func Open(ctx context.Context, o Options, on Host) (*Pod, error) {
	if err := o.LacksImage(); err != nil {
		return nil, err
	}
	c, err := connect(o)
	if err != nil {
		return nil, err
	}
	p := newPod(c, o, newSession())
	p.request.base = "headroom-" + p.request.session
	if err := p.request.preflight(ctx, 1); err != nil {
		return nil, err
	}
	if p.record, err = c.newSessionRecord(on.Records, o, p.request.session); err != nil {
		return nil, err
	}
	if on.Report != nil {
		on.Report(fmt.Sprintf("making a pod in namespace %s", c.namespace))
	}
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func newPod(c *cluster, o Options, session string) *Pod {
	p := &Pod{request: request{options: o, cluster: c, session: session}, cluster: c}
	p.Shell = host.NewShell(o.Name, apiTransport{p}, 0)
	if o.Nodes {
		p.Relocate(onNode)
	}
	return p
}

// Label has all that was made, and all that will be, carry the run's ID: there is no run yet when the pod is made.
func (p *Pod) Label(ctx context.Context, run string) error {
	p.request.run = run
	patch, err := (&unstructured.Unstructured{
		Object: object{"metadata": object{"labels": object{runLabel: run}}}}).MarshalJSON()
	if err != nil {
		return err
	}
	name, _ := p.current()
	_, err = p.cluster.of(pods()).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if claim := p.request.objects(1).claim; err == nil && claim != "" {
		_, err = p.cluster.of(claims()).Patch(ctx, claim, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return &lab.Error{What: "can't label what was made with the run's ID", Target: p.Name(), Err: err}
	}
	return nil
}

// current are the names of the present pod and of its node.
func (p *Pod) current() (pod, node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pod, p.node
}

// start makes the next pod, and returns when commands can be carried out in it.
func (p *Pod) start(ctx context.Context) error {
	o := p.nextObjects()
	if err := p.record.add(o); err != nil {
		return &lab.Error{What: "can't note what is about to be made in the cluster", Target: p.Name(), Err: err}
	}
	if err := p.make(ctx, o); err != nil {
		return err
	}
	running, err := p.request.awaitRunning(ctx, o.pod)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.pod, p.node = o.pod, statusOf(running.Object).node
	p.cpu, p.memory = p.request.options.CPU, p.request.options.Memory
	p.mu.Unlock()
	if err := p.Connect(ctx); err != nil {
		return err
	}
	return nil
}

// nextObjects are the names of what the next try makes.
func (p *Pod) nextObjects() objects {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries++
	return p.request.objects(p.tries)
}

// make makes a pod, and the claim before the first. It is on disk that they are about to be made.
func (p *Pod) make(ctx context.Context, o objects) error {
	if o.claim != "" && p.claimUID == "" {
		claim, err := p.cluster.of(claims()).Create(ctx, claimOf(p.request.options, o.claim, p.request.labels()),
			metav1.CreateOptions{})
		if err != nil {
			return p.request.refusal("the claim", err)
		}
		p.claimUID = claim.GetUID()
	}
	made, err := p.cluster.of(pods()).Create(ctx, podOf(p.request.options, o.pod, o.claim, p.request.labels()),
		metav1.CreateOptions{})
	if err != nil {
		return p.request.refusal("the pod", err)
	}
	if o.claim != "" {
		return p.own(ctx, o, made.GetUID())
	}
	return nil
}

// own has the claim go with the pod, whoever removes that.
func (p *Pod) own(ctx context.Context, o objects, uid types.UID) error {
	patch, err := (&unstructured.Unstructured{Object: ownedBy(o.pod, uid)}).MarshalJSON()
	if err == nil {
		_, err = p.cluster.of(claims()).Patch(ctx, o.claim, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return &lab.Error{What: "can't have the claim go with the pod", Target: p.Name(), Err: err}
	}
	return nil
}

// Close removes the pod and all that was made for it, and returns when it is gone. That of a set only ends the
// connection.
func (p *Pod) Close() error {
	if p.request.member {
		return p.Shell.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*deletionTimeout)
	defer cancel()
	err := p.Shell.Close()
	return errors.Join(err, p.cluster.clearRecorded(ctx, p.record))
}

// Node is where the pod runs.
func (p *Pod) Node() string {
	_, node := p.current()
	return node
}

// Address is the pod's in the network of the cluster, or its node's with hostnetwork.
func (p *Pod) Address(ctx context.Context) (string, error) {
	name, _ := p.current()
	pod, err := p.cluster.get(ctx, pods(), name)
	if err != nil {
		return "", p.cluster.unreachable(err)
	}
	ip, _, _ := unstructured.NestedString(pod.Object, "status", "podIP")
	if ip == "" {
		return "", &lab.Error{What: "the pod has no address", Target: p.Name(),
			Hints: []string{"kubectl get pod -n " + p.cluster.namespace + " " + name + " -o wide"}}
	}
	return ip, nil
}

// TestPath is where in the container the volume under test is; empty without one.
func (p *Pod) TestPath() string { return p.request.options.Volume.At }

// MadeBlank reports whether a device is a volume that was made for this pod, and goes with it. A class may hand out
// what was used before, so that its content is still to be looked at.
func (p *Pod) MadeBlank(_ context.Context, device string) (bool, error) {
	v := p.request.options.Volume
	return v.Block && (v.Kind == Claimed || v.Kind == Ephemeral) && device == v.At, nil
}

// Unseen is true: whoever provisions volumes of a class may hand out what was used before.
func (p *Pod) Unseen() bool { return true }

var (
	_ host.Target          = (*Pod)(nil)
	_ host.Leftovers       = (*Pod)(nil)
	_ host.Receiver        = (*Pod)(nil)
	_ host.Closer          = (*Pod)(nil)
	_ host.Clock           = (*Pod)(nil)
	_ host.Caveats         = (*Pod)(nil)
	_ host.Booter          = (*Pod)(nil)
	_ host.Disposable      = (*Pod)(nil)
	_ host.HasTestPath     = (*Pod)(nil)
	_ host.Replaceable     = (*Pod)(nil)
	_ host.Addressed       = (*Pod)(nil)
	_ host.Labelled        = (*Pod)(nil)
	_ host.FactProvider    = (*Pod)(nil)
	_ host.SharesKernel    = (*Pod)(nil)
	_ host.LosesDataOnBoot = (*Pod)(nil)
	_ host.HasNodeNetwork  = (*Pod)(nil)
	_ host.FleetMember     = (*Pod)(nil)
	_ host.Connection      = (*connection)(nil)
)

// SharesKernel marks the pod as a container of its node.
func (p *Pod) SharesKernel() {}

// LosesDataOnBoot reports whether the volume under test goes with the pod.
func (p *Pod) LosesDataOnBoot() bool { return p.request.options.LosesDataOnBoot() }

// NodeNetwork names pods like this one on the same node; there are none for a pod that is in the node's network.
func (p *Pod) NodeNetwork() (same, inNode string, ok bool) {
	if p.request.options.HostNetwork {
		return "", "", false
	}
	return p.request.options.OnNode(p.Node()), p.request.options.InNodeNetwork(p.Node()), true
}
