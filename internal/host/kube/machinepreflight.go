package kube

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/headroom/headroom/internal/lab"
)

// preflight refuses what would fail later, before anything is made: a cluster without KubeVirt, or with one that lacks
// what is asked for; permissions, the namespace, the class of storage, the node; and what admission has to say, which
// is asked by a dry run. All that it finds is in one error.
func (r *machineRequest) preflight(ctx context.Context) error {
	if err := r.lacksKubeVirt(ctx); err != nil {
		return err
	}
	missing, err := r.cluster.missing(ctx, r.needs())
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return lacking(r.options.Name, r.cluster.namespace, missing)
	}
	// A pod of the same options asks for the same node and the same volume.
	p := request{options: r.options, cluster: r.cluster}
	refused := []error{r.cluster.lacksNamespace(ctx), p.lacksNode(ctx), p.lacksClass(ctx, 1), r.lacksClaims(ctx),
		r.lacksWay(), r.needsVersion(r.options.Machine.Disk)}
	if err := errors.Join(refused...); err != nil {
		return err
	}
	return r.dryRunCreate(ctx)
}

// lacksKubeVirt refuses a cluster without it, and notes its version where it may be seen.
func (r *machineRequest) lacksKubeVirt(ctx context.Context) error {
	_, err := retried(ctx, r.cluster, func(ctx context.Context) (*unstructured.UnstructuredList, error) {
		return r.cluster.of(machines()).List(ctx, metav1.ListOptions{Limit: 1})
	})
	if absent(err) {
		return &lab.Error{Kind: lab.Refused, What: "the cluster has no KubeVirt: it does not know virtualmachines of " +
			"kubevirt.io/v1", Target: r.options.Name,
			Hints: []string{"kubectl get kubevirt -A shows where it is installed, in a cluster that has it",
				"without it, measure a pod: kube:pod?class=…"}}
	}
	if err != nil && isUnavailable(err) {
		return r.cluster.unreachable(err)
	}
	list, err := r.cluster.globals(ctx, kubevirts())
	if err != nil || len(list.Items) == 0 {
		return nil // it may not be seen by everybody
	}
	kv := list.Items[0].Object
	r.version, _, _ = unstructured.NestedString(kv, "status", "observedKubeVirtVersion")
	if phase, _, _ := unstructured.NestedString(kv, "status", "phase"); phase != "" && phase != "Deployed" {
		return &lab.Error{Kind: lab.Refused, What: "KubeVirt is not ready in the cluster: it is " + phase,
			Target: r.options.Name, Hints: []string{"kubectl get kubevirt -A"}}
	}
	return nil
}

// poolSince is the first version that knows supplementalPool. Source: the types of kubevirt.io/api at v1.4.0, which
// lacks it, and at v1.5.0.
const poolSince = 5

// needsVersion refuses what the cluster's KubeVirt is too old for, where its version may be seen.
func (r *machineRequest) needsVersion(d MachineDisk) error {
	major, minor, ok := versionOf(r.version)
	if d.Policy != ThreadPool || !ok || major > 1 || major == 1 && minor >= poolSince {
		return nil
	}
	return &lab.Error{Kind: lab.Refused,
		What: fmt.Sprintf("KubeVirt %s has no %s: several IOThreads for a disk came with v1.%d",
			r.version, ThreadPool,
			poolSince), Target: r.options.Name,
		Hints: []string{"iothreadspolicy=shared, or dedicatediothread, gives the disk one thread"}}
}

// versionOf reads the version of a KubeVirt.
//
//	v1.6.0
//	v1.5.2-rc.0
func versionOf(text string) (major, minor int, ok bool) {
	parts := strings.SplitN(strings.TrimPrefix(text, "v"), ".", 3)
	if len(parts) < 3 {
		return 0, 0, false
	}
	major, err := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return major, minor, err == nil && err2 == nil
}

// needs are the permissions that a machine takes.
func (r *machineRequest) needs() []permission {
	var list []permission
	verbs := func(resource, group string, verbs ...string) {
		for _, v := range verbs {
			list = append(list, permission{verb: v, resource: resource, group: group})
		}
	}
	verbs("virtualmachines", "kubevirt.io", "create", "get", "update", "patch", "delete")
	verbs("virtualmachineinstances", "kubevirt.io", "get")
	// apiVMInstancesPortForward of KubeVirt's own roles, pkg/virt-operator/resource/generate/rbac/cluster.go
	if r.options.Machine.Through == ByVirtctl {
		list = append(list, permission{"get", "virtualmachineinstances", "portforward", "subresources.kubevirt.io"})
	}
	verbs("secrets", "", "create", "get", "patch", "delete")
	verbs("jobs", "batch", "create", "get", "patch", "delete")
	if r.options.Volume.Kind == Claimed {
		verbs("persistentvolumeclaims", "", "create", "get", "patch", "delete")
	} else if len(r.claimNames()) > 0 {
		verbs("persistentvolumeclaims", "", "get")
	}
	return list
}

// lacksClaims looks at the claims that are there already.
func (r *machineRequest) lacksClaims(ctx context.Context) error {
	for _, name := range r.claimNames() {
		if name == r.claimName() {
			continue
		}
		_, err := r.cluster.get(ctx, claims(), name)
		if absent(err) {
			return &lab.Error{Kind: lab.Usage, What: "there is no claim " + name + " in namespace " +
				r.cluster.namespace, Target: r.options.Name,
				Hints: []string{"kubectl get pvc -n " + r.cluster.namespace + " lists them"}}
		}
		if err != nil {
			return r.cluster.unreachable(err)
		}
	}
	return nil
}

// dryRunCreate has the server go through the making of everything without making it: what the schema of KubeVirt does
// not know, and what admission forbids, it refuses now.
func (r *machineRequest) dryRunCreate(ctx context.Context) error {
	for _, p := range r.components("") {
		_, err := r.cluster.of(p.kind).Create(ctx, p.object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll},
			FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			return r.refusal(p.word, err)
		}
	}
	return nil
}

// refusal is the error of an object that the server does not take, with the way out.
func (r *machineRequest) refusal(what string, err error) error {
	if strings.Contains(err.Error(), "unknown field") {
		return &lab.Error{Kind: lab.Refused, What: "the cluster's KubeVirt does not know what is asked for",
			Target: r.options.Name, Err: err,
			Hints: []string{"the message names the field; a newer KubeVirt has it, or leave out the option"}}
	}
	return refusal(r.cluster, r.options.Name, what, err)
}

// onNode is where the container of a pod that is for its node has what a path names on the node. The kernel's own
// folders are the same in both, as far as they do not depend on who reads them: what is mounted is read from the node's
// first process. All else of the system is below nodeFolder; the rest is the container's, with the place under test and
// with the tools that look at it.
func onNode(path string) string {
	for _, of := range []string{"/etc", "/boot", "/lib/modules", "/usr/lib/modules", "/usr/lib/os-release",
		"/run", "/var/lib"} {
		if path == of || strings.HasPrefix(path, of+"/") {
			return nodeFolder + path
		}
	}
	return path
}
