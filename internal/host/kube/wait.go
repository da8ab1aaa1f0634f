package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/headroom/headroom/internal/lab"
)

// awaitRunning waits until the container of a pod runs. What can't become better by waiting is an error at once.
func (r *request) awaitRunning(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	begun := time.Now()
	for {
		pod, err := r.cluster.get(ctx, pods(), name)
		if absent(err) {
			return nil, &lab.Error{What: "the pod was removed while it started", Target: r.options.Name,
				Hints: []string{"who or what removes pods in namespace " + r.cluster.namespace + "?"}}
		}
		if err != nil {
			return nil, r.cluster.unreachable(err)
		}
		s := statusOf(pod.Object)
		if s.running {
			return pod, nil
		}
		if s.fatal {
			return nil, r.notStarted(ctx, name, s, "did not start")
		}
		if time.Since(begun) > r.options.Wait {
			return nil, r.notStarted(ctx, name, s, "has not started after "+r.options.Wait.String())
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// status is how far a pod is.
type status struct {
	running bool
	// fatal says that waiting changes nothing.
	fatal bool
	// reason is a word of Kubernetes', message what it says.
	reason, message string
	// node that it was given to.
	node string
	// leaving says that it is being removed.
	leaving bool
	// over says that its containers have ended for good.
	over bool
}

// fatalReasons returns the reasons of a container that waits for something which needs a user to act. ErrImagePull may
// be a registry that is slow; when it is tried again (ImagePullBackOff) the reason is known.
func fatalReasons() []string {
	return []string{"ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName", "ImageInspectError",
		"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
}

// statusOf reads the status of a pod. Source: the API's reference, PodStatus.
func statusOf(pod object) status {
	text := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(pod, fields...)
		return s
	}
	s := status{node: text("spec", "nodeName"), reason: text("status", "reason"), message: text("status", "message"),
		leaving: text("metadata", "deletionTimestamp") != ""}
	switch text("status", "phase") {
	case "Failed", "Succeeded":
		s.over, s.fatal = true, true
	}
	containers, _, _ := unstructured.NestedSlice(pod, "status", "containerStatuses")
	for _, c := range containers {
		one, ok := c.(object)
		if !ok {
			continue
		}
		if _, is, _ := unstructured.NestedMap(one, "state", "running"); is {
			s.running = !s.over && !s.leaving
		}
		for _, state := range []string{"waiting", "terminated"} {
			why, is, _ := unstructured.NestedMap(one, "state", state)
			if !is {
				continue
			}
			reason, _ := why["reason"].(string)
			message, _ := why["message"].(string)
			if s.reason == "" && reason != "ContainerCreating" {
				s.reason, s.message = reason, message
			}
			s.fatal = s.fatal || slices.Contains(fatalReasons(), reason)
		}
	}
	conditions, _, _ := unstructured.NestedSlice(pod, "status", "conditions")
	for _, c := range conditions {
		one, ok := c.(object)
		if !ok || one["status"] != "False" && one["type"] != "DisruptionTarget" {
			continue
		}
		message, _ := one["message"].(string)
		switch one["type"] {
		case "PodScheduled":
			s.reason, s.message = fmt.Sprint(one["reason"]), message
		case "DisruptionTarget":
			if s.message == "" {
				s.message = message
			}
		}
	}
	return s
}

// notStarted is the error of a pod that does not start, with what Kubernetes says and the way out.
func (r *request) notStarted(ctx context.Context, name string, s status, what string) error {
	printed := r.cluster.eventMessages(ctx, append([]string{name}, r.claimNames(name)...)...)
	e := &lab.Error{What: "the pod " + what, Target: r.options.Name, Output: strings.Join(printed, "\n")}
	if s.reason != "" {
		e.What += ": " + s.reason
	}
	if s.message != "" && !strings.Contains(e.Output, s.message) {
		e.What += ": " + s.message
	}
	e.Hints = r.hints(s, s.message+"\n"+e.Output)
	return e
}

// hints are the ways out of what keeps a pod from starting.
func (r *request) hints(s status, printed string) []string {
	o := r.options
	has := func(text string) bool { return strings.Contains(printed, text) }
	switch {
	case s.reason == "ErrImageNeverPull":
		return []string{"the node has no image " + o.Image +
			" and pull=never forbids to pull it: load it there, or leave out pull"}
	case s.reason == "ImagePullBackOff" || s.reason == "InvalidImageName":
		return []string{"check the name of the image: image=" + o.Image, "a registry that asks who you are needs a " +
			"secret of the namespace: pullsecret=NAME", "an image that was loaded into the node by hand: pull=never"}
	case s.reason == "CreateContainerConfigError" && has("runAsNonRoot"):
		return []string{"leave out restricted, or take an image whose user is a number"}
	case has("no such file or directory") && has("/bin/sh"):
		return []string{"the image has no /bin/sh; take one that has it, with coreutils or BusyBox, util-linux and " +
			"fio: image=NAME"}
	case has("ProvisioningFailed") || has("unbound immediate PersistentVolumeClaims") ||
		has("didn't find available persistent volumes"):
		return r.bindingHints()
	case has("volume node affinity conflict"):
		return []string{"the volume is on another node than the one that is asked for", r.bindingHints()[0]}
	case has("Insufficient cpu") || has("Insufficient memory"):
		return []string{"no node has that much left: ask for less with cpu= and memory=, or request less than the " +
			"limit: cpu=100m..2", "kubectl describe nodes shows what is allocated"}
	case has("were unschedulable"):
		return []string{"a node is cordoned or drained, and takes no pods: kubectl get nodes shows which; kubectl " +
			"uncordon NODE", "tolerate has the pod run there all the same"}
	case has("untolerated taint"):
		return []string{"add tolerate, which has the pod run on nodes with taints, too"}
	case has("node affinity/selector"):
		return []string{"no node is like that: check node= and selector=; kubectl get nodes --show-labels"}
	case has("FailedAttachVolume") || has("FailedMount") || has("FailedMapVolume"):
		return []string{"the message is of the volume's driver or of the node; kubectl describe pod shows it while " +
			"the pod is there: add wait=30m"}
	case s.reason == "Evicted":
		return []string{"the node is short of what the message names; take another with node=, or ask for what is " +
			"needed with memory="}
	}
	return []string{"a slow registry or a cluster that adds nodes needs more time: wait=10m"}
}

func (r *request) bindingHints() []string {
	how := "StorageClass " + r.options.Volume.Of
	if r.binding != "" {
		how += " binds " + r.binding + ", and its provisioner is " + r.provisioner
	}
	hints := []string{how}
	if r.binding == "Immediate" && (r.options.Node != "" || len(r.options.NodeLabels) > 0) {
		hints = append(hints, "it makes the volume before the node is known; with node= or selector= take a class "+
			"that binds WaitForFirstConsumer")
	}
	return append(hints, "does the provisioner run, and can it make "+r.options.Volume.Size+"? its log says")
}

// eventMessages is what the events of some objects say, the newest last, each once.
//
//	Warning FailedScheduling: 0/1 nodes are available: persistentvolumeclaim "x" not found.
func (c *cluster) eventMessages(ctx context.Context, names ...string) []string {
	list, err := retried(ctx, c, func(ctx context.Context) (*unstructured.UnstructuredList, error) {
		return c.of(events()).List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return nil // events may not be seen by everybody, and only explain
	}
	type event struct{ at, text string }
	var all []event
	for _, i := range list.Items {
		about, _, _ := unstructured.NestedString(i.Object, "involvedObject", "name")
		kind, _, _ := unstructured.NestedString(i.Object, "type")
		if !slices.Contains(names, about) || kind == "Normal" && i.Object["reason"] != "WaitForFirstConsumer" {
			continue
		}
		at, _, _ := unstructured.NestedString(i.Object, "lastTimestamp")
		if at == "" {
			at, _, _ = unstructured.NestedString(i.Object, "eventTime")
		}
		all = append(all, event{at, fmt.Sprintf("%s %v: %v", kind, i.Object["reason"], i.Object["message"])})
	}
	slices.SortStableFunc(all, func(a, b event) int { return strings.Compare(a.at, b.at) })
	var texts []string
	for _, e := range all {
		if !slices.Contains(texts, e.text) {
			texts = append(texts, e.text)
		}
	}
	const enough = 6
	return texts[max(0, len(texts)-enough):]
}
