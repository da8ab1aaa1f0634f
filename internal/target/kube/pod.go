package kube

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"headroom/internal/lab"
	"headroom/internal/target"
)

// Pod is a pod that was made to be measured. It is the shell in its container for everything but its life.
type Pod struct {
	*target.Shell
	options Options
	cluster *cluster
	session string
	record  *sessionRecord
	// base begins the names of what is made for the pod. member says that it is one of a set, which removes what was
	// made.
	base   string
	member bool
	// run is the ID of the run that the pod belongs to, once there is one.
	run string
	// binding and provisioner are those of the class of the volume, where they may be seen.
	binding, provisioner string

	mu sync.Mutex
	// tries is how many pods there were, pod the name of the present one, node where it runs. cpu and memory are what
	// it was started with: another may be asked for, and not be there yet.
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
	// Records is the folder that says what was made, so that it can be removed after a crash.
	Records string
	// Report is told what goes on; nil for nobody.
	Report func(text string)
	// SSH are arguments of the user's own ssh, where a machine is reached through another host: "-F", FILE.
	SSH []string
}

// Open makes a pod and returns when commands can be carried out in it. Nothing is made before the preflight has passed,
// and what was made is removed when it does not start.
func Open(ctx context.Context, o Options, on Host) (*Pod, error) {
	if err := o.lacksImage(); err != nil {
		return nil, err
	}
	c, err := connect(o)
	if err != nil {
		return nil, err
	}
	p := newPod(c, o, newSession())
	p.base = "headroom-" + p.session
	if err := p.preflight(ctx, 1); err != nil {
		return nil, err
	}
	if p.record, err = c.newSessionRecord(on.Records, o, p.session); err != nil {
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

// lacksImage is an error where nobody has named an image.
func (o Options) lacksImage() error {
	if o.Image == "" {
		return &lab.Error{Kind: lab.Usage, What: "no image is named for the pod", Target: o.Name,
			Hints: []string{"name one that the cluster can pull, with a shell and fio: image=NAME, or once for all " +
				ImageVariable + "=NAME", "headroom's Containerfile makes one"}}
	}
	return nil
}

func newPod(c *cluster, o Options, session string) *Pod {
	p := &Pod{options: o, cluster: c, session: session}
	p.Shell = target.NewShell(o.Name, apiTransport{p}, 0)
	if o.Nodes {
		p.Relocate(onNode)
	}
	return p
}

// newSessionRecord begins the record of a session.
func (c *cluster) newSessionRecord(folder string, o Options, session string) (*sessionRecord, error) {
	j, err := newJournal(folder, session)
	if err != nil {
		return nil, &lab.Error{What: "can't note what is about to be made in the cluster", Target: o.Name, Err: err}
	}
	return &sessionRecord{journal: j, record: Record{Target: o.Name, Session: session, Server: c.config.Host,
		Context: o.Context, Kubeconfig: o.Kubeconfig, Namespace: c.namespace}}, nil
}

// newSession draws what tells the objects of one target from those of another.
func newSession() string {
	b := make([]byte, 5)
	_, _ = rand.Read(b) // never fails, says its documentation
	return hex.EncodeToString(b)
}

// objects are the names of what a try makes.
func (p *Pod) objects(try int) objects {
	o := objects{pod: p.base}
	if try > 1 {
		o.pod += fmt.Sprintf("-%d", try)
	}
	if p.options.Volume.Kind == Claimed {
		o.claim = p.base
	}
	return o
}

// claimNames are those of the claims that a pod may wait for.
func (p *Pod) claimNames(pod string) []string {
	switch p.options.Volume.Kind {
	case Claimed:
		return []string{p.objects(1).claim}
	case Existing:
		return []string{p.options.Volume.Of}
	case Ephemeral:
		return []string{pod + "-" + volumeName}
	}
	return nil
}

func (p *Pod) labels() map[string]string {
	l := map[string]string{managedBy: headroom, sessionLabel: p.session}
	if p.run != "" {
		l[runLabel] = p.run
	}
	return l
}

// Label has all that was made, and all that will be, carry the run's ID: there is no run yet when the pod is made.
func (p *Pod) Label(ctx context.Context, run string) error {
	p.run = run
	patch, err := (&unstructured.Unstructured{
		Object: object{"metadata": object{"labels": object{runLabel: run}}}}).MarshalJSON()
	if err != nil {
		return err
	}
	name, _ := p.current()
	_, err = p.cluster.of(pods()).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if claim := p.objects(1).claim; err == nil && claim != "" {
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
	running, err := p.awaitRunning(ctx, o.pod)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.pod, p.node = o.pod, statusOf(running.Object).node
	p.cpu, p.memory = p.options.CPU, p.options.Memory
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
	return p.objects(p.tries)
}

// make makes a pod, and the claim before the first. It is on disk that they are about to be made.
func (p *Pod) make(ctx context.Context, o objects) error {
	if o.claim != "" && p.claimUID == "" {
		claim, err := p.cluster.of(claims()).Create(ctx, claimOf(p.options, o.claim, p.labels()),
			metav1.CreateOptions{})
		if err != nil {
			return p.refusal("the claim", err)
		}
		p.claimUID = claim.GetUID()
	}
	made, err := p.cluster.of(pods()).Create(ctx, podOf(p.options, o.pod, o.claim, p.labels()), metav1.CreateOptions{})
	if err != nil {
		return p.refusal("the pod", err)
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
	if p.member {
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
func (p *Pod) TestPath() string { return p.options.Volume.At }

// MadeBlank says whether a device is a volume that was made for this pod, and goes with it. A class may hand out what
// was used before, so that its content is still to be looked at.
func (p *Pod) MadeBlank(_ context.Context, device string) (bool, error) {
	v := p.options.Volume
	return v.Block && (v.Kind == Claimed || v.Kind == Ephemeral) && device == v.At, nil
}

// Unseen is true: whoever provisions volumes of a class may hand out what was used before.
func (p *Pod) Unseen() bool { return true }

// apiTransport is the way to the container over the API.
type apiTransport struct{ pod *Pod }

func (w apiTransport) Dial(ctx context.Context) (target.Connection, error) {
	p := w.pod
	name, _ := p.current()
	if c := p.reconnect(name); c != nil {
		return c, nil
	}
	if err := p.podStatus(ctx, name); err != nil {
		return nil, err
	}
	c, err := dial(ctx, p.cluster, name, p.fateOf(name))
	if err != nil {
		if gone := p.podStatus(ctx, name); gone != nil {
			return nil, gone
		}
		return nil, err
	}
	p.mu.Lock()
	p.user = &identity{c.uid, c.home}
	p.mu.Unlock()
	return c, nil
}

// reconnect is a connection in place of one that was given back. All of it is known, so that nothing needs to be asked:
// that the pod is gone, the first command finds out. It is nil where there was none, or it was lost.
func (p *Pod) reconnect(name string) *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.disconnected || p.user == nil {
		return nil
	}
	p.disconnected = false
	c := newConnection(p.cluster, name)
	c.uid, c.home = p.user.uid, p.user.home
	go c.watch(p.fateOf(name))
	return c
}

// Disconnect gives the connection back until the next use.
func (p *Pod) Disconnect() error {
	err := p.Shell.Disconnect()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disconnected = err == nil
	return err
}

// Vanished asks what became of the container.
func (w apiTransport) Vanished(ctx context.Context) string {
	if err := w.pod.Lost(ctx); err != nil {
		return err.Error()
	}
	return "memory may have run out: the pod's limit is " + limitText(w.pod.options.Memory) +
		"; kubectl describe pod shows what it was ended for"
}

func limitText(r Range) string {
	if r.Limit == "" {
		return "that of its node"
	}
	return r.Limit
}

// podStatus is an error that is target.ErrGone when a pod does not run any more; nil while it does, and while nobody
// can tell.
func (p *Pod) podStatus(ctx context.Context, name string) error {
	pod, err := p.cluster.get(ctx, pods(), name)
	if absent(err) {
		return p.gone(name, "it was deleted")
	}
	if err != nil {
		return p.cluster.unreachable(err)
	}
	s := statusOf(pod.Object)
	switch {
	case s.over && s.reason == "DeadlineExceeded":
		return p.gone(name, "its deadline of "+p.options.Deadline.String()+" has passed; deadline=72h gives it more")
	case s.over:
		return p.gone(name, strings.TrimSuffix(strings.TrimSpace(strings.Join([]string{s.reason, s.message}, ": ")),
			":"))
	case s.leaving && s.message != "":
		return p.gone(name, s.message)
	case s.leaving:
		return p.gone(name, "it is being deleted")
	}
	return nil
}

func (p *Pod) fateOf(name string) func(context.Context) error {
	return func(ctx context.Context) error { return p.podStatus(ctx, name) }
}

func (p *Pod) gone(name, why string) error {
	return &lab.Error{What: fmt.Sprintf("the pod %s on node %s is gone: %s", name, p.Node(), why), Target: p.Name(),
		Err: target.ErrGone}
}

// Lost says why the pod is gone for good; nil while it is there, or nobody can tell.
func (p *Pod) Lost(ctx context.Context) error {
	name, _ := p.current()
	if err := p.podStatus(ctx, name); errors.Is(err, target.ErrGone) {
		return err
	}
	return nil
}

// Replace makes another pod in place of one that is lost, on the same node: another one would be another machine. The
// claim is kept.
func (p *Pod) Replace(ctx context.Context) error { return p.replace(ctx) }

// Generation is the name of the present pod.
func (p *Pod) Generation() string {
	name, _ := p.current()
	return name
}

// Boot makes the pod again with other limits, on the same node and with the same claim. The zero spec gives it those
// that it was asked for with.
func (p *Pod) Boot(ctx context.Context, spec target.BootSpec) error {
	if len(spec.Arguments) > 0 || len(spec.Without) > 0 || spec.Kernel != "" {
		return &lab.Error{Kind: lab.Usage, What: "a pod has the kernel of its node, and can't be started with " +
			"another or with other arguments", Target: p.Name()}
	}
	asked, err := Parse(p.options.Name)
	if err != nil {
		return err
	}
	cpu, memory := asked.CPU, asked.Memory
	for name, level := range spec.Machine {
		var err error
		switch name {
		case "cpu":
			err = amounts(level, &cpu)
		case "memory":
			err = amounts(level, &memory)
		default:
			err = fmt.Errorf("a pod has no setting %s; it has %s", name, strings.Join(Settings(), " and "))
		}
		if err != nil {
			return &lab.Error{Kind: lab.Usage, What: err.Error(), Target: p.Name()}
		}
	}
	if cpu == p.cpu && memory == p.memory && p.Lost(ctx) == nil {
		return nil
	}
	p.options.CPU, p.options.Memory = cpu, memory
	return p.replace(ctx)
}

// Settings are what Boot can change.
func Settings() []string { return []string{"cpu", "memory"} }

// replace removes the pod and makes the next, unless the node takes none. The claim is given to the next one first, so
// that it does not go with the old; one that went already is made again, where that is a folder, which is seen to be
// empty.
func (p *Pod) replace(ctx context.Context) error {
	old, node := p.current()
	p.options.Node = node
	if err := p.lacksNode(ctx); err != nil {
		return err
	}
	if p.options.Volume.Kind == Ephemeral && p.options.Volume.Block {
		return p.volumeGone("class= keeps the volume for the next pod")
	}
	if err := p.Forget(); err != nil {
		return err
	}
	p.mu.Lock()
	p.user = nil
	p.mu.Unlock()
	if p.options.Volume.Kind == Claimed {
		if err := p.keepClaim(ctx); err != nil {
			return err
		}
	}
	if _, err := p.cluster.remove(ctx, pods(), old, p.session); err != nil {
		return err
	}
	if err := p.cluster.awaitGone(ctx, pods(), "pod", old); err != nil {
		return err
	}
	if p.options.Volume.Kind == Claimed && p.claimUID == "" {
		if err := p.cluster.awaitGone(ctx, claims(), "pvc", p.objects(1).claim); err != nil {
			return err
		}
		if err := p.lacksClass(ctx, 1); err != nil {
			return err
		}
	}
	return p.start(ctx)
}

// keepClaim has the claim outlast the pod. It forgets one that went with the pod.
func (p *Pod) keepClaim(ctx context.Context) error {
	patch := []byte(`{"metadata":{"ownerReferences":null}}`)
	claim, err := p.cluster.of(claims()).Patch(ctx, p.objects(1).claim, types.MergePatchType, patch,
		metav1.PatchOptions{})
	switch {
	case err != nil && !absent(err):
		return &lab.Error{What: "can't keep the claim for the next pod", Target: p.Name(), Err: err}
	case err == nil && claim.GetDeletionTimestamp() == nil:
		return nil
	case p.options.Volume.Block:
		return p.volumeGone("a device that was made anew is looked at before it is written to: go on with headroom " +
			"run --resume")
	}
	p.claimUID = ""
	return nil
}

func (p *Pod) volumeGone(hint string) error {
	return &lab.Error{What: "the device went with the pod, and another one may hold data", Target: p.Name(),
		Err: target.ErrGone, Hints: []string{hint}}
}

// Caveats are what is to be said of every measurement in the pod.
func (p *Pod) Caveats(ctx context.Context) []string {
	printed := p.Shell.Caveats(ctx)
	if p.options.CPU.none() && p.options.Memory.none() {
		printed = append(printed,
			"the pod requests no CPU and no memory (BestEffort), so that other pods of node "+p.Node()+" come first; "+
				"cpu=2&memory=1Gi gives it its own")
	}
	if p.provisioner != "" && p.binding == "Immediate" && p.options.Node != "" {
		printed = append(printed, "StorageClass "+p.options.Volume.Of+" binds Immediate: the volume was made before "+
			"the node was known")
	}
	return printed
}

// less compares two amounts; one that can't be read is no less.
func less(a, b string) bool {
	x, err1 := resource.ParseQuantity(a)
	y, err2 := resource.ParseQuantity(b)
	return err1 == nil && err2 == nil && x.Cmp(y) < 0
}

var (
	_ target.Target          = (*Pod)(nil)
	_ target.Leftovers       = (*Pod)(nil)
	_ target.Receiver        = (*Pod)(nil)
	_ target.Closer          = (*Pod)(nil)
	_ target.Clock           = (*Pod)(nil)
	_ target.Caveats         = (*Pod)(nil)
	_ target.Booter          = (*Pod)(nil)
	_ target.Disposable      = (*Pod)(nil)
	_ target.HasTestPath     = (*Pod)(nil)
	_ target.Replaceable     = (*Pod)(nil)
	_ target.Addressed       = (*Pod)(nil)
	_ target.Labelled        = (*Pod)(nil)
	_ target.FactProvider    = (*Pod)(nil)
	_ target.SharesKernel    = (*Pod)(nil)
	_ target.LosesDataOnBoot = (*Pod)(nil)
	_ target.HasNodeNetwork  = (*Pod)(nil)
	_ target.FleetMember     = (*Pod)(nil)
	_ target.Connection      = (*connection)(nil)
)
