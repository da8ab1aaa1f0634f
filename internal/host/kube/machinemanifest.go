package kube

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// diskSerial is the serial number of the disk under test, by which the guest finds it. No other text has this word:
// reports hide it everywhere.
const diskSerial = "headroom-disk"

// The names of a machine's disks, and the key of the secret that KubeVirt reads the user data of cloud-init from.
const (
	bootDisk    = "boot"
	seedDisk    = "cloudinit"
	userDataKey = "userdata"
)

// timerOf is what ends everything if headroom never comes back. A machine can have no deadline, a job of Kubernetes
// can: when it has passed, the job fails, is removed at once, and all that it owns goes with it. It starts no pod.
// Source: the API's reference, JobSpec; "Automatic Cleanup for Finished Jobs".
func timerOf(o Options, name string, labels map[string]string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "batch/v1", "kind": "Job",
		"metadata": object{"name": name, "labels": texts(labels)},
		"spec": object{
			"parallelism":             int64(0),
			"activeDeadlineSeconds":   int64(o.Deadline / time.Second),
			"ttlSecondsAfterFinished": int64(0),
			"template": object{"spec": object{"restartPolicy": "Never", "automountServiceAccountToken": false,
				// It is demanded, and never started.
				"containers": []any{object{"name": headroom, "image": headroom}}}},
		},
	}}
}

// ownedByTimer has an object go with the timer.
func ownedByTimer(o *unstructured.Unstructured, timer string, uid types.UID) *unstructured.Unstructured {
	if uid != "" { // there is none in a rehearsal
		metadata, _ := o.Object["metadata"].(object)
		metadata["ownerReferences"] = []any{object{"apiVersion": "batch/v1", "kind": "Job", "name": timer,
			"uid": string(uid)}}
	}
	return o
}

// secretOf holds the configuration for cloud-init, with the host key of the machine.
func secretOf(name, userData string, labels map[string]string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata":   object{"name": name, "labels": texts(labels)},
		"stringData": object{userDataKey: userData},
	}}
}

// machineOf is the machine as it is asked for. claim is the name of the claim of its disk, where it has one. Source:
// KubeVirt's API reference, VirtualMachineSpec and VirtualMachineInstanceSpec.
func machineOf(o Options, name, claim string, labels map[string]string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
		"metadata": object{"name": name, "labels": texts(labels)},
		"spec":     machineSpec(o, name, claim, labels),
	}}
}

// The strategies that are used: a machine that ends by itself stays ended, so that it can be asked why, and one that is
// halted is not there.
const (
	runOnce   = "Once"
	runHalted = "Halted"
)

func machineSpec(o Options, name, claim string, labels map[string]string) object {
	m := o.Machine
	cpu := object{"cores": int64(m.Cores)}
	if m.DedicatedCPUs {
		cpu["dedicatedCpuPlacement"] = true
	}
	disks := []any{object{"name": bootDisk, "bootOrder": int64(1), "disk": object{"bus": "virtio"}},
		object{"name": seedDisk, "disk": object{"bus": "virtio"}}}
	volumes := []any{bootVolume(o),
		object{"name": seedDisk, "cloudInitNoCloud": object{"secretRef": object{"name": name}}}}
	if v := machineVolume(o, claim); v != nil {
		disks, volumes = append(disks, diskOf(m.Disk)), append(volumes, v)
	}
	devices := object{
		"disks":      disks,
		"interfaces": []any{object{"name": "default", "masquerade": object{}}},
		"rng":        object{}, // or keys take their time
	}
	if m.Disk.MultiQueue {
		devices["blockMultiQueue"] = true
	}
	domain := object{"cpu": cpu, "memory": object{"guest": m.Memory}, "devices": devices}
	if m.Disk.Policy != "" {
		domain["ioThreadsPolicy"] = m.Disk.Policy
	}
	if m.Disk.Policy == ThreadPool {
		domain["ioThreads"] = object{"supplementalPoolThreadCount": int64(m.Disk.Pool)}
	}
	if !o.CPU.None() {
		r := resources(o)
		if m.DedicatedCPUs {
			r = object{} // KubeVirt derives them
		}
		domain["resources"] = r
	}
	spec := object{
		// The same at each start, so that one that was started again is not taken for another machine.
		"hostname": headroom + "-" + labels[sessionLabel],
		"domain":   domain,
		"networks": []any{object{"name": "default", "pod": object{}}},
		"volumes":  volumes,
		// A node that is drained ends it, as it does a pod: moved elsewhere it would be measured on, on another node,
		// and no report would show it.
		"evictionStrategy":              "None",
		"terminationGracePeriodSeconds": int64(30),
	}
	schedule(spec, o)
	return object{"runStrategy": runOnce, "template": object{"metadata": object{"labels": texts(labels)}, "spec": spec}}
}

// bootVolume is where the machine starts from. A claim is seen through an image of what differs, so that nothing is
// written to it.
func bootVolume(o Options) object {
	m := o.Machine
	if m.BootClaim != "" {
		return object{"name": bootDisk,
			"ephemeral": object{"persistentVolumeClaim": object{"claimName": m.BootClaim, "readOnly": true}}}
	}
	disk := object{"image": m.Boot, "imagePullPolicy": o.Pull}
	if o.PullSecret != "" {
		disk["imagePullSecret"] = o.PullSecret
	}
	return object{"name": bootDisk, "containerDisk": disk}
}

// machineVolume returns the volume of the disk under test; nil for none.
func machineVolume(o Options, claim string) object {
	v := object{"name": volumeName}
	switch o.Volume.Kind {
	case Claimed:
		v["persistentVolumeClaim"] = object{"claimName": claim}
	case Existing:
		v["persistentVolumeClaim"] = object{"claimName": o.Volume.Of}
	case EmptyDisk:
		v["emptyDisk"] = object{"capacity": o.Volume.Size}
	default:
		return nil
	}
	return v
}

func diskOf(d MachineDisk) object {
	disk := object{"name": volumeName, "serial": diskSerial, "disk": object{"bus": d.Bus}}
	if d.Cache != "" {
		disk["cache"] = d.Cache
	}
	if d.IO != "" {
		disk["io"] = d.IO
	}
	if d.Dedicated {
		disk["dedicatedIOThread"] = true
	}
	return disk
}
