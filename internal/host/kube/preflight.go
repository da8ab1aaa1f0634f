package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/headroom/headroom/internal/lab"
)

// preflight refuses what would fail later, before anything is made: permissions, the namespace, the class of storage
// and how it binds, the node, and what admission has to say, which is asked by a dry run. All that it finds is in one
// error. Alike is how many such pods will be made.
func (r *request) preflight(ctx context.Context, alike int) error {
	missing, err := r.cluster.missing(ctx, r.needs())
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return lacking(r.options.Name, r.cluster.namespace, missing)
	}
	if err := errors.Join(r.cluster.lacksNamespace(ctx), r.lacksNode(ctx), r.lacksClass(ctx, alike),
		r.lacksClaim(ctx)); err != nil {
		return err
	}
	return r.dryRunCreate(ctx)
}

// lacking is the error of permissions that the user has not.
func lacking(target, namespace string, missing []string) error {
	return &lab.Error{Kind: lab.Refused, What: "you lack permissions in namespace " + namespace + ": " +
		strings.Join(missing, ", "), Target: target,
		Hints: []string{"ask for a role with them, or name a namespace where you have them: namespace=NAME",
			"kubectl auth can-i --list -n " + namespace + " shows what you may"}}
}

// permission is a verb on a kind of objects. The group is empty for Kubernetes' first one.
type permission struct{ verb, resource, subresource, group string }

func (p permission) String() string {
	text := p.verb + " " + p.resource
	if p.group != "" {
		text += "." + p.group
	}
	if p.subresource != "" {
		text += "/" + p.subresource
	}
	return text
}

// needs are the permissions that a target takes. A websocket is opened by a GET, an older stream by a POST; either is
// enough, so that only the verb is asked for that every server honours.
func (r *request) needs() []permission {
	list := []permission{{"create", "pods", "", ""}, {"get", "pods", "", ""}, {"patch", "pods", "", ""},
		{"delete", "pods", "", ""}, {"create", "pods", "exec", ""}}
	if r.member {
		list = append(list, permission{"list", "pods", "", ""})
	}
	if r.options.Volume.Kind == Claimed {
		list = append(list, permission{"create", "persistentvolumeclaims", "", ""},
			permission{"get", "persistentvolumeclaims", "", ""},
			permission{"patch", "persistentvolumeclaims", "", ""},
			permission{"delete", "persistentvolumeclaims", "", ""})
	}
	if r.options.Volume.Kind == Existing {
		list = append(list, permission{"get", "persistentvolumeclaims", "", ""})
	}
	return list
}

// missing asks the server which of some permissions the user lacks (SelfSubjectAccessReview, which every user may
// make).
func (c *cluster) missing(ctx context.Context, needs []permission) ([]string, error) {
	var lacking []string
	for _, n := range needs {
		review := &unstructured.Unstructured{Object: object{"apiVersion": "authorization.k8s.io/v1",
			"kind": "SelfSubjectAccessReview", "spec": object{
				"resourceAttributes": object{"namespace": c.namespace, "verb": n.verb, "group": n.group,
					"resource": n.resource, "subresource": n.subresource}}}}
		answer, err := c.client.Resource(reviews()).Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return nil, c.unreachable(err)
		}
		if allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed"); !allowed {
			lacking = append(lacking, n.String())
		}
	}
	return lacking, nil
}

// absent reports that an object does not exist; a forbidden read is no answer.
func absent(err error) bool { return apierrors.IsNotFound(err) }

func (c *cluster) lacksNamespace(ctx context.Context) error {
	if _, err := c.global(ctx, namespaces(), c.namespace); absent(err) {
		return &lab.Error{Kind: lab.Usage, What: "there is no namespace " + c.namespace, Target: c.target,
			Hints: []string{"kubectl create namespace " + c.namespace, "or name another: namespace=NAME"}}
	}
	return nil
}

func (r *request) lacksNode(ctx context.Context) error {
	if r.options.Node == "" {
		return nil
	}
	node, err := r.cluster.global(ctx, nodes(), r.options.Node)
	if absent(err) {
		return &lab.Error{Kind: lab.Usage, What: "there is no node " + r.options.Node, Target: r.options.Name,
			Hints: []string{"nodes are " + r.cluster.names(ctx, nodes())}}
	}
	if err != nil {
		return nil // nodes may not be seen by everybody; the scheduler will say
	}
	if off, _, _ := unstructured.NestedBool(node.Object, "spec", "unschedulable"); off && !r.options.Tolerate {
		return &lab.Error{Kind: lab.Refused, What: "node " + r.options.Node + " is cordoned: it takes no pods",
			Target: r.options.Name,
			Hints: []string{"kubectl uncordon " + r.options.Node,
				"or add tolerate, which has the pod run there all the same"}}
	}
	if !r.options.Tolerate {
		if taint := hardTaint(node.Object); taint != "" {
			return &lab.Error{Kind: lab.Refused, What: "node " + r.options.Node + " has the taint " + taint,
				Target: r.options.Name,
				Hints:  []string{"add tolerate, which has the pod run there all the same"}}
		}
	}
	return nil
}

// hardTaint is a taint that keeps pods away; empty where there is none.
func hardTaint(node object) string {
	taints, _, _ := unstructured.NestedSlice(node, "spec", "taints")
	for _, t := range taints {
		taint, ok := t.(object)
		if !ok || taint["effect"] == "PreferNoSchedule" {
			continue
		}
		return fmt.Sprintf("%v:%v", taint["key"], taint["effect"])
	}
	return ""
}

// The annotation that marks the class which is taken where none is named, and the provisioner of classes whose volumes
// people make.
const noProvisioner = "kubernetes.io/no-provisioner"

// lacksClass looks at the class of a volume that will be made, and notes how it binds. One that makes no volumes must
// have as many free as there will be pods.
func (r *request) lacksClass(ctx context.Context, alike int) error {
	v := r.options.Volume
	if v.Kind != Claimed && v.Kind != Ephemeral {
		return nil
	}
	class, err := r.cluster.global(ctx, classes(), v.Of)
	if absent(err) {
		return &lab.Error{Kind: lab.Usage, What: "there is no StorageClass " + v.Of, Target: r.options.Name,
			Hints: []string{"classes are " + r.cluster.names(ctx, classes())}}
	}
	if err != nil {
		return nil // as with nodes
	}
	r.binding, _, _ = unstructured.NestedString(class.Object, "volumeBindingMode")
	r.provisioner, _, _ = unstructured.NestedString(class.Object, "provisioner")
	if r.provisioner != noProvisioner {
		return nil
	}
	list, err := r.cluster.globals(ctx, volumes())
	if err != nil {
		return nil // as above
	}
	mode := map[bool]string{true: "Block", false: "Filesystem"}[v.Block]
	free := 0
	for _, pv := range list.Items {
		if fits(pv.Object, v.Of, mode, v.Size) {
			free++
		}
	}
	if free >= alike {
		return nil
	}
	e := &lab.Error{Kind: lab.Refused,
		What: fmt.Sprintf("StorageClass %s makes no volumes (%s), and none of mode %s with %s is free", v.Of,
			noProvisioner, mode, v.Size), Target: r.options.Name,
		Hints: []string{"kubectl get pv shows the volumes there are; take a smaller size=, the other mode=, or make one",
			"a volume that is Released holds what was on it, and is not given out again"}}
	if free > 0 {
		e.What = fmt.Sprintf("StorageClass %s makes no volumes (%s), and of mode %s with %s there are %d free for %d "+
			"pods", v.Of, noProvisioner, mode, v.Size, free, alike)
	}
	return e
}

// fits reports whether a volume is free, of a class, of a mode and large enough.
func fits(pv object, class, mode, size string) bool {
	text := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(pv, fields...)
		return s
	}
	is := text("spec", "volumeMode")
	return text("status", "phase") == "Available" && text("spec", "storageClassName") == class &&
		(is == mode || is == "" && mode == "Filesystem") &&
		!less(text("spec", "capacity", "storage"), size)
}

// lacksClaim looks at a claim that is there already, and notes whether it is a device.
func (r *request) lacksClaim(ctx context.Context) error {
	v := &r.options.Volume
	if v.Kind != Existing {
		return nil
	}
	claim, err := r.cluster.get(ctx, claims(), v.Of)
	if absent(err) {
		return &lab.Error{Kind: lab.Usage, What: "there is no claim " + v.Of + " in namespace " + r.cluster.namespace,
			Target: r.options.Name,
			Hints:  []string{"kubectl get pvc -n " + r.cluster.namespace + " lists them"}}
	}
	if err != nil {
		return r.cluster.unreachable(err)
	}
	if mode, _, _ := unstructured.NestedString(claim.Object, "spec", "volumeMode"); mode == "Block" && !v.Block {
		v.Block = true
		if v.At == DefaultFolder {
			v.At = DefaultDevice
		}
	}
	return nil
}

func (c *cluster) names(ctx context.Context, kind schema.GroupVersionResource) string {
	list, err := c.globals(ctx, kind)
	if err != nil || len(list.Items) == 0 {
		return "none, or none that you may see"
	}
	var all []string
	for _, i := range list.Items {
		all = append(all, i.GetName())
	}
	return strings.Join(all, ", ")
}

// dryRunCreate has the server go through the making of everything without making it: what admission forbids, as
// PodSecurity and quotas do, it forbids now.
func (r *request) dryRunCreate(ctx context.Context) error {
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	if r.options.Volume.Kind == Claimed {
		if _, err := r.cluster.of(claims()).Create(ctx, claimOf(r.options, r.objects(0).claim, r.labels()), dry); err !=
			nil {
			return r.refusal("the claim", err)
		}
	}
	o := r.objects(0)
	for end := time.Now().Add(accountLimit); ; {
		_, err := r.cluster.of(pods()).Create(ctx, podOf(r.options, o.pod, o.claim, r.labels()), dry)
		if err == nil {
			return nil
		}
		if !lacksAccount(err) || time.Now().After(end) {
			return r.refusal("the pod", err)
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// accountLimit is how long a namespace may be without the account of its pods: a controller makes it once the namespace
// is there, which takes moments.
const accountLimit = 10 * time.Second

// lacksAccount says that a pod is refused because its namespace was made just now. Source: serviceAccount.Admit in
// Kubernetes' plugin/pkg/admission/serviceaccount.
//
//	pods "headroom-fb3f1fa28a" is forbidden: error looking up service account t/default: serviceaccount "default" not found
func lacksAccount(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "error looking up service account") &&
		strings.Contains(err.Error(), "not found")
}

// refusal is the error of an object that the server does not take, with the way out.
func (r *request) refusal(what string, err error) error {
	return refusal(r.cluster, r.options.Name, what, err)
}

func refusal(c *cluster, target, what string, err error) error {
	if isUnavailable(err) {
		return c.unreachable(err)
	}
	e := &lab.Error{Kind: lab.Refused, What: "the cluster refuses " + what, Target: target, Err: err}
	printed := err.Error()
	has := func(text string) bool { return strings.Contains(printed, text) }
	ns := c.namespace
	switch {
	case has("violates PodSecurity \"restricted"):
		e.Hints = []string{"add restricted, which has the pod keep to that standard; files are measured, devices " +
			"only where the user may open them",
			"or take a namespace that allows more: kubectl label namespace " + ns +
				" pod-security.kubernetes.io/enforce=privileged --overwrite"}
	case has("violates PodSecurity"):
		e.Hints = []string{"leave out hostpath, hostnetwork and privileged, which the baseline standard forbids",
			"or take a namespace that allows more: kubectl label namespace " + ns +
				" pod-security.kubernetes.io/enforce=privileged --overwrite"}
	case has("exceeded quota"):
		e.Hints = []string{"kubectl describe quota -n " + ns +
			" shows what is left; ask for less with size=, cpu= or memory=, or take another namespace"}
	case has("failed quota"):
		e.Hints = []string{"the quota of " + ns + " wants requests or limits to be said: add cpu= and memory="}
	case has("must be less than or equal to"), has("usage per Container is"), has("usage per PersistentVolumeClaim is"):
		e.Hints = []string{"kubectl describe limitrange -n " + ns + " shows the bounds"}
	case apierrors.IsForbidden(err):
		e.Hints = []string{"kubectl auth can-i --list -n " + ns + " shows what you may there"}
	case apierrors.IsInvalid(err):
		e.Hints = []string{"the message names the option that is wrong"}
	default:
		e.Hints = []string{"an admission webhook of the cluster may have refused it; the message names the webhook"}
	}
	return e
}
