package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/headroom/headroom/internal/lab"
)

// Set is several pods alike that are made together: one on each of several nodes, or a number of them. What is asked of
// the cluster is asked for all of them at once where that is possible, and nothing of it for each again and again.
type Set struct {
	// Pods in the order of their nodes, or of their numbers.
	Pods []*Pod
	// LeftOut says of each node that was meant and has no pod why.
	LeftOut []string

	cluster *cluster
	record  *sessionRecord
}

const (
	// page is how many objects are asked for at a time: a cluster has thousands, and each takes some ten kilobytes
	// here.
	page = 100
	// maxConcurrent is how many requests are on their way.
	maxConcurrent = 16
)

// OpenSet makes the pods that a name stands for, and returns when all of them run. Of members, which are the nodes or
// the numbers that a set has had before, only those are made. A node that can't have a pod is left out, and said to be;
// a number of pods is complete, or there are none.
func OpenSet(ctx context.Context, o Options, members []string, on Host) (*Set, error) {
	if err := o.LacksImage(); err != nil {
		return nil, err
	}
	c, err := connect(o)
	if err != nil {
		return nil, err
	}
	s := &Set{cluster: c}
	if err := s.describe(ctx, o, members); err != nil {
		return nil, err
	}
	alike := len(s.Pods)
	if o.Nodes { // one without a volume is left out
		alike = 1
	}
	// What is asked for one is the same for all but for the node.
	if err := s.Pods[0].request.preflight(ctx, alike); err != nil {
		return nil, err
	}
	if s.record, err = c.newSessionRecord(on.Records, o, s.Pods[0].request.session); err != nil {
		return nil, err
	}
	s.record.record.Many = true
	if on.Report != nil {
		on.Report(fmt.Sprintf("making %d pods in namespace %s", len(s.Pods), c.namespace))
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// describe lists the pods that will be made.
func (s *Set) describe(ctx context.Context, o Options, members []string) error {
	if len(members) == 0 && o.Nodes {
		var err error
		if members, err = s.nodes(ctx, o); err != nil {
			return err
		}
	}
	for i := 1; i <= o.Count && len(members) < o.Count; i++ {
		members = append(members, strconv.Itoa(i))
	}
	session := newSession()
	for i, which := range members {
		replica, _ := strconv.Atoi(which) // 0 for a node
		own, err := ParseName(o.Member(which, replica))
		if err != nil {
			return err
		}
		own.Image = o.Image
		p := newPod(s.cluster, own, session)
		p.request.base, p.request.member = fmt.Sprintf("headroom-%s-n%d", session, i+1), true
		s.Pods = append(s.Pods, p)
	}
	return nil
}

// start makes all pods and waits for them.
func (s *Set) start(ctx context.Context) error {
	made := make([]objects, len(s.Pods))
	for i, p := range s.Pods {
		p.record = s.record
		p.request.binding, p.request.provisioner = s.Pods[0].request.binding, s.Pods[0].request.provisioner
		made[i] = p.nextObjects()
	}
	if err := s.record.add(made...); err != nil {
		return &lab.Error{What: "can't note what is about to be made in the cluster", Target: s.record.record.Target,
			Err: err}
	}
	begun := time.Now()
	err := concurrently(ctx, len(s.Pods), func(ctx context.Context, i int) error {
		return s.Pods[i].make(ctx, made[i])
	})
	if err != nil {
		return err
	}
	waiting, err := s.await(ctx, begun)
	if err != nil {
		return err
	}
	return s.recordNodes(ctx, made, waiting)
}

// await returns when all pods run, or when waiting longer changes nothing: then with those that don't, by name.
func (s *Set) await(ctx context.Context, begun time.Time) (map[string]status, error) {
	limit := s.Pods[0].request.options.Wait + time.Duration(len(s.Pods))*perPod
	for {
		waiting := map[string]status{}
		futile := true
		err := s.cluster.each(ctx, pods(), s.own("status.phase!=Running"), func(p *unstructured.Unstructured) {
			one := statusOf(p.Object)
			waiting[p.GetName()] = one
			futile = futile && one.fatal
		})
		if err != nil {
			return nil, s.cluster.unreachable(err)
		}
		if len(waiting) == 0 || futile || time.Since(begun) > limit {
			return waiting, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// perPod is how much longer each further pod may take to start: one scheduler gives all of them their nodes.
const perPod = 100 * time.Millisecond

// own are the pods of the set that are in some state.
func (s *Set) own(fields string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: sessionLabel + "=" + s.record.record.Session, FieldSelector: fields}
}

// recordNodes takes note of where the pods run, and leaves out nodes whose pods don't.
func (s *Set) recordNodes(ctx context.Context, made []objects, waiting map[string]status) error {
	where := map[string]string{}
	err := s.cluster.each(ctx, pods(), s.own("status.phase=Running"), func(p *unstructured.Unstructured) {
		if one := statusOf(p.Object); one.running {
			where[p.GetName()] = one.node
		}
	})
	if err != nil {
		return s.cluster.unreachable(err)
	}
	var running []*Pod
	var failed error
	for i, p := range s.Pods {
		node, runs := where[made[i].pod]
		if runs {
			p.mu.Lock()
			p.pod, p.node = made[i].pod, node
			p.cpu, p.memory = p.request.options.CPU, p.request.options.Memory
			p.mu.Unlock()
			running = append(running, p)
			continue
		}
		if failed == nil {
			failed = p.request.notStarted(ctx, made[i].pod, waiting[made[i].pod], "did not start")
		}
		why := cmp.Or(waiting[made[i].pod].message, waiting[made[i].pod].reason, "its pod did not start")
		s.LeftOut = append(s.LeftOut, "node "+p.request.options.Node+" is left out: "+why)
	}
	if failed != nil && (len(running) == 0 || !s.Pods[0].request.options.Nodes) {
		return failed
	}
	s.Pods = running
	return nil
}

// Close removes all pods and what was made for them, and returns when they are gone.
func (s *Set) Close() error {
	var errs []error
	for _, p := range s.Pods {
		errs = append(errs, p.Shell.Close())
	}
	if s.record == nil {
		return errors.Join(errs...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*deletionTimeout+time.Duration(len(s.Pods))*perPod)
	defer cancel()
	return errors.Join(errors.Join(errs...), s.cluster.clearRecorded(ctx, s.record))
}

// nodes are those that match and can have a pod now, by name.
func (s *Set) nodes(ctx context.Context, o Options) ([]string, error) {
	var names []string
	err := s.cluster.each(ctx, nodes(), metav1.ListOptions{LabelSelector: labels.FormatLabels(o.NodeLabels)},
		func(n *unstructured.Unstructured) {
			if why := whyUnfit(n.Object, o.Tolerate); why != "" {
				s.LeftOut = append(s.LeftOut, "node "+n.GetName()+" is left out: "+why)
				return
			}
			names = append(names, n.GetName())
		})
	if err != nil {
		return nil, &lab.Error{What: "can't list the nodes", Target: o.Name, Err: err,
			Hints: []string{"ask for a role with the permission list nodes, which belong to no namespace",
				"kubectl auth can-i list nodes"}}
	}
	if len(names) == 0 {
		e := &lab.Error{Kind: lab.Usage, What: "no node matches that can have a pod", Target: o.Name,
			Hints: s.LeftOut[:min(len(s.LeftOut), 5)]}
		if len(e.Hints) == 0 {
			e.Hints = []string{"kubectl get nodes --show-labels"}
		}
		return nil, e
	}
	slices.SortFunc(names, compareNatural)
	return names, nil
}

// whyUnfit says why a node can't have a pod now; empty where it can.
func whyUnfit(node object, tolerate bool) string {
	conditions, _, _ := unstructured.NestedSlice(node, "status", "conditions")
	ready := "it does not say whether it is ready"
	for _, c := range conditions {
		if one, ok := c.(object); ok && one["type"] == "Ready" {
			if ready = ""; one["status"] != "True" {
				ready = fmt.Sprintf("it is not ready (%v)", one["reason"])
			}
		}
	}
	if ready != "" || tolerate {
		return ready
	}
	if off, _, _ := unstructured.NestedBool(node, "spec", "unschedulable"); off {
		return "it is cordoned; add tolerate to have a pod there all the same"
	}
	if taint := hardTaint(node); taint != "" {
		return "it has the taint " + taint + "; add tolerate to have a pod there all the same"
	}
	return ""
}

// compareNatural orders names with the numbers in them as numbers: node-2 before node-10.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		i, j := digits(a), digits(b)
		if i > 0 && j > 0 {
			x, y := strings.TrimLeft(a[:i], "0"), strings.TrimLeft(b[:j], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[i:], b[j:]
			continue
		}
		if a[0] != b[0] {
			break
		}
		a, b = a[1:], b[1:]
	}
	return strings.Compare(a, b)
}

// digits is how many a text begins with.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}
