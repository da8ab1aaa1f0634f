package standin

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func (k *KubeVirt) makeInstance(ctx context.Context, machine object, namespace, name string) error {
	spec, _, _ := unstructured.NestedMap(machine, "spec", "template", "spec")
	labels, _, _ := unstructured.NestedMap(machine, "spec", "template", "metadata", "labels")
	instance := &unstructured.Unstructured{Object: object{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
		"metadata": object{"name": name, "labels": labels, "finalizers": []any{finalizer},
			"ownerReferences": []any{object{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": name,
				"uid": text(machine, "metadata", "uid"), "controller": true}}},
		"spec":   spec,
		"status": object{"phase": "Pending"},
	}}
	_, err := k.of("virtualmachineinstances", namespace).Create(ctx, instance,
		metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	return err
}

// printable returns the status word of a machine with an instance.
func (k *KubeVirt) printable(ctx context.Context, instance *unstructured.Unstructured) (word string, ready bool) {
	switch text(instance.Object, "status", "phase") {
	case "Running":
		return "Running", true
	case "Failed", "Succeeded":
		return "Stopped", false
	}
	pod, err := k.launcher(ctx, instance)
	if err != nil || pod == nil {
		return "Starting", false
	}
	if condition(pod.Object, "PodScheduled")["reason"] == "Unschedulable" {
		return "ErrorUnschedulable", false
	}
	containers, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	for _, c := range containers {
		if one, ok := c.(object); ok {
			if reason := text(one, "state", "waiting", "reason"); slices.Contains(
				[]string{"ErrImagePull", "ImagePullBackOff"}, reason) {
				return reason, false
			}
		}
	}
	return "Starting", false
}

func condition(of object, kind string) object {
	list, _, _ := unstructured.NestedSlice(of, "status", "conditions")
	for _, c := range list {
		if one, ok := c.(object); ok && one["type"] == kind {
			return one
		}
	}
	return nil
}

// launcher returns the pod of an instance; nil while there is none.
func (k *KubeVirt) launcher(ctx context.Context, instance *unstructured.Unstructured) (*unstructured.Unstructured,
	error) {
	list, err := k.of("pods", instance.GetNamespace()).List(ctx,
		metav1.ListOptions{LabelSelector: "kubevirt.io/created-by=" + string(instance.GetUID())})
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}

// instance advances an instance by one step: first a pod that holds its volumes, then a guest.
func (k *KubeVirt) instance(ctx context.Context, instance *unstructured.Unstructured) error {
	pod, err := k.launcher(ctx, instance)
	if err != nil {
		return err
	}
	uid := string(instance.GetUID())
	if instance.GetDeletionTimestamp() != nil {
		return k.end(ctx, instance, pod)
	}
	phase := text(instance.Object, "status", "phase")
	if phase == "Failed" || phase == "Succeeded" {
		return nil
	}
	if pod == nil {
		if phase == "Running" {
			k.stop(uid)
			return k.status(ctx, instance,
				object{"phase": "Failed", "conditions": notReady("PodTerminating", "the pod of the instance is gone")})
		}
		pod, err := k.launcherOf(ctx, instance)
		if err == nil {
			_, err = k.of("pods", instance.GetNamespace()).Create(ctx, pod, metav1.CreateOptions{})
		}
		return err
	}
	node := text(pod.Object, "spec", "nodeName")
	if !running(pod.Object) {
		status := object{"phase": "Scheduling"}
		if c := condition(pod.Object, "PodScheduled"); c != nil && c["status"] == "False" {
			status["conditions"] = []any{object{"type": "PodScheduled", "status": "False", "reason": c["reason"],
				"message": c["message"], "lastProbeTime": nil, "lastTransitionTime": now()}}
		}
		return k.status(ctx, instance, status)
	}
	k.mu.Lock()
	g := k.guests[uid]
	k.mu.Unlock()
	if g == nil {
		return k.begin(ctx, instance)
	}
	switch done, err := g.state(); {
	case !done:
		return k.status(ctx, instance, object{"phase": "Scheduled", "nodeName": node})
	case err != nil:
		return k.status(ctx, instance,
			object{"phase": "Failed", "nodeName": node, "conditions": notReady("GuestNotRunning", err.Error())})
	case g.guest.Ended():
		return k.status(ctx, instance,
			object{"phase": "Failed", "nodeName": node, "conditions": notReady("GuestNotRunning", "QEMU has ended")})
	}
	return k.status(ctx, instance, object{"phase": "Running", "nodeName": node,
		"interfaces": []any{object{"name": "default", "ipAddress": g.address, "ipAddresses": []any{g.address},
			"podInterfaceName": "eth0"}},
		"conditions": []any{object{"type": "Ready", "status": "True", "lastProbeTime": nil,
			"lastTransitionTime": now()}}})
}

func notReady(reason, message string) []any {
	return []any{object{"type": "Ready", "status": "False", "reason": reason, "message": message, "lastProbeTime": nil,
		"lastTransitionTime": now()}}
}

func running(pod object) bool {
	return condition(pod, "Ready")["status"] == "True"
}

// status sets the status of an instance if it has changed.
func (k *KubeVirt) status(ctx context.Context, instance *unstructured.Unstructured, status object) error {
	if text(instance.Object, "status", "phase") == status["phase"] && (status["conditions"] == nil ||
		condition(instance.Object, "Ready") != nil || condition(instance.Object, "PodScheduled") != nil) {
		return nil
	}
	instance.Object["status"] = status
	_, err := k.of("virtualmachineinstances", instance.GetNamespace()).Update(ctx, instance, metav1.UpdateOptions{})
	return err
}

// end ends the guest of an instance that is being removed, then its pod, then releases it.
func (k *KubeVirt) end(ctx context.Context, instance, pod *unstructured.Unstructured) error {
	k.stop(string(instance.GetUID()))
	if pod != nil {
		if pod.GetDeletionTimestamp() == nil {
			grace := int64(1)
			return k.of("pods", instance.GetNamespace()).Delete(ctx, pod.GetName(),
				metav1.DeleteOptions{GracePeriodSeconds: &grace})
		}
		return nil
	}
	instance.SetFinalizers(nil)
	_, err := k.of("virtualmachineinstances", instance.GetNamespace()).Update(ctx, instance, metav1.UpdateOptions{})
	return err
}

// launcherOf returns a pod for an instance: it tells the scheduler what the instance needs, and binds its claims.
func (k *KubeVirt) launcherOf(ctx context.Context, instance *unstructured.Unstructured) (*unstructured.Unstructured,
	error) {
	spec, _, _ := unstructured.NestedMap(instance.Object, "spec")
	const waits = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"
	compute := object{"name": "compute", "image": k.options.Image, "imagePullPolicy": "Never",
		"command": []any{"/bin/sh", "-c", waits}}
	containers := []any{compute}
	var volumes, devices, mounts []any
	list, _, _ := unstructured.NestedSlice(spec, "volumes")
	for _, v := range list {
		one := v.(object)
		name := text(one, "name")
		if claim := cmp.Or(text(one, "persistentVolumeClaim", "claimName"),
			text(one, "ephemeral", "persistentVolumeClaim", "claimName")); claim != "" {
			c, err := k.of("persistentvolumeclaims", instance.GetNamespace()).Get(ctx, claim, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			volumes = append(volumes, object{"name": name, "persistentVolumeClaim": object{"claimName": claim}})
			if text(c.Object, "spec", "volumeMode") == "Block" {
				devices = append(devices, object{"name": name, "devicePath": "/dev/" + name})
			} else {
				mounts = append(mounts, object{"name": name, "mountPath": diskFolders + name})
			}
		}
		if image := text(one, "containerDisk", "image"); image != "" {
			containers = append(containers, object{"name": "volume" + name, "image": image, "imagePullPolicy": text(one,
				"containerDisk", "imagePullPolicy"), "command": []any{"/bin/sh", "-c", waits}})
		}
	}
	compute["volumeDevices"], compute["volumeMounts"] = devices, mounts
	pod := object{"containers": containers, "volumes": volumes, "restartPolicy": "Never",
		"automountServiceAccountToken": false, "terminationGracePeriodSeconds": int64(1)}
	for _, field := range []string{"nodeSelector", "affinity", "tolerations"} {
		if v, ok := spec[field]; ok {
			pod[field] = v
		}
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"generateName": fmt.Sprintf("virt-launcher-%s-", instance.GetName()),
			"labels": object{"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": string(instance.GetUID()),
				"vm.kubevirt.io/name": instance.GetName()},
			"ownerReferences": []any{object{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
				"name": instance.GetName(), "uid": string(instance.GetUID()),
				"controller": true, "blockOwnerDeletion": true}}},
		"spec": pod,
	}}, nil
}
