package kube

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The labels of everything that is made.
const (
	managedBy    = "app.kubernetes.io/managed-by"
	headroom     = "headroom"
	sessionLabel = "headroom.dev/session"
	runLabel     = "headroom.dev/run"
)

const (
	containerName = "headroom"
	volumeName    = "under-test"
	// nodeVolume are the node's own files, which a pod that is for its node has at nodeFolder.
	nodeVolume = "node"
	nodeFolder = "/node"
	// unprivileged is the user of a restricted pod: no image has a user of this number, and none is needed.
	unprivileged = 65532
)

// initScript is what the container runs: it does nothing, takes note of the ends of orphans, and ends when it is told
// to, which the first process of a container does not by itself.
const initScript = `trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done`

type object = map[string]any

// claimOf is the claim that a pod's volume is made by.
func claimOf(o Options, name string, labels map[string]string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim",
		"metadata": object{"name": name, "labels": texts(labels)},
		"spec":     claimSpec(o),
	}}
}

func claimSpec(o Options) object {
	return object{
		"storageClassName": o.Volume.Of,
		"accessModes":      []any{"ReadWriteOnce"},
		"volumeMode":       map[bool]string{true: "Block", false: "Filesystem"}[o.Volume.Block],
		"resources":        object{"requests": object{"storage": o.Volume.Size}},
	}
}

// podOf is the pod as it is asked for. claim is the name of the claim of its volume, where it has one.
func podOf(o Options, name, claim string, labels map[string]string) *unstructured.Unstructured {
	container := object{
		"name": containerName, "image": o.Image, "imagePullPolicy": o.Pull,
		"command":         []any{"/bin/sh", "-c", initScript},
		"securityContext": containerSecurity(o),
		"resources":       resources(o),
	}
	spec := object{
		"restartPolicy": "Never",
		// The same for all pods of a session, so that one that took another's place is not taken for another machine.
		"hostname":                     headroom + "-" + labels[sessionLabel],
		"activeDeadlineSeconds":        int64(o.Deadline / time.Second),
		"automountServiceAccountToken": false,
		"enableServiceLinks":           false,
		// The first process ends at once.
		"terminationGracePeriodSeconds": int64(5),
	}
	if v := volumeOf(o, claim, labels); v != nil {
		spec["volumes"] = []any{v}
		if o.Volume.Block {
			container["volumeDevices"] = []any{object{"name": volumeName, "devicePath": o.Volume.At}}
		} else {
			container["volumeMounts"] = []any{object{"name": volumeName, "mountPath": o.Volume.At}}
		}
	}
	if o.Nodes {
		// Also what runs on the node is seen, and what it has mounted. Its files are for reading.
		spec["hostPID"] = true
		volumes, _ := spec["volumes"].([]any)
		spec["volumes"] = append(volumes, object{"name": nodeVolume, "hostPath": object{"path": "/"}})
		mounts, _ := container["volumeMounts"].([]any)
		container["volumeMounts"] = append(mounts, object{"name": nodeVolume, "mountPath": nodeFolder, "readOnly": true,
			"mountPropagation": "HostToContainer"})
	}
	if o.Restricted {
		// What is in the volume belongs to the group, so that a user without privileges can write there.
		spec["securityContext"] = object{"runAsNonRoot": true, "runAsUser": int64(unprivileged),
			"runAsGroup": int64(unprivileged), "fsGroup": int64(unprivileged),
			"seccompProfile": object{"type": "RuntimeDefault"}}
	}
	if o.HostNetwork {
		spec["hostNetwork"] = true
		spec["dnsPolicy"] = "ClusterFirstWithHostNet"
	}
	if o.PullSecret != "" {
		spec["imagePullSecrets"] = []any{object{"name": o.PullSecret}}
	}
	schedule(spec, o)
	spec["containers"] = []any{container}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": name, "labels": texts(labels)},
		"spec":     spec,
	}}
}

// schedule says on which nodes a pod or a machine may run.
func schedule(spec object, o Options) {
	if o.Tolerate {
		spec["tolerations"] = []any{object{"operator": "Exists"}}
	}
	if len(o.NodeLabels) > 0 {
		spec["nodeSelector"] = texts(o.NodeLabels)
	}
	if o.Node != "" {
		// By affinity and not by nodeName: the scheduler must see the pod, or a volume that waits for its first
		// consumer is never bound.
		spec["affinity"] = affinityTo(o.Node)
	}
}

// affinityTo is an affinity to one node, by its name.
func affinityTo(node string) object {
	return object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": object{
		"nodeSelectorTerms": []any{
			object{"matchFields": []any{object{"key": "metadata.name", "operator": "In", "values": []any{node}}}}}}}}
}

func volumeOf(o Options, claim string, labels map[string]string) object {
	v := object{"name": volumeName}
	switch o.Volume.Kind {
	case Claimed:
		v["persistentVolumeClaim"] = object{"claimName": claim}
	case Existing:
		v["persistentVolumeClaim"] = object{"claimName": o.Volume.Of}
	case Ephemeral:
		v["ephemeral"] = object{"volumeClaimTemplate": object{"metadata": object{"labels": texts(labels)},
			"spec": claimSpec(o)}}
	case EmptyDir:
		dir := object{}
		if o.Volume.Memory {
			dir["medium"] = "Memory"
		}
		if o.Volume.Size != "" {
			dir["sizeLimit"] = o.Volume.Size
		}
		v["emptyDir"] = dir
	case HostPath:
		v["hostPath"] = object{"path": o.Volume.Of}
	default:
		return nil
	}
	return v
}

func containerSecurity(o Options) object {
	switch {
	case o.Privileged:
		return object{"privileged": true}
	case o.Restricted:
		return object{"allowPrivilegeEscalation": false, "capabilities": object{"drop": []any{"ALL"}}}
	}
	return object{}
}

func resources(o Options) object {
	requests, limits := object{}, object{}
	for name, r := range map[string]Range{"cpu": o.CPU, "memory": o.Memory} {
		if r.Request != "" {
			requests[name] = r.Request
		}
		if r.Limit != "" {
			limits[name] = r.Limit
		}
	}
	return object{"requests": requests, "limits": limits}
}

// texts is a map of strings as unstructured objects hold it.
func texts(m map[string]string) object {
	all := object{}
	for k, v := range m {
		all[k] = v
	}
	return all
}
