package saved

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// kubeMachine is a VirtualMachine as kubectl prints it.
const kubeMachine = `apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"db1"}}
  name: db1
  namespace: prod
spec:
  runStrategy: Always
  template:
    spec:
      architecture: amd64
      domain:
        cpu:
          cores: 4
          model: host-passthrough
          sockets: 2
          threads: 1
        devices:
          disks:
          - disk: {}
            name: rootdisk
          - cache: writethrough
            dedicatedIOThread: true
            disk:
              bus: virtio
            name: data
          - cdrom:
              bus: sata
            name: iso
          - disk:
              bus: virtio
            name: cloudinit
          interfaces:
          - masquerade: {}
            model: e1000e
            name: default
          - name: fast
            sriov: {}
        machine:
          type: pc-q35-rhel9.4.0
        resources:
          requests:
            memory: 1.5Gi
      volumes:
      - dataVolume:
          name: db1-root
        name: rootdisk
      - name: data
        persistentVolumeClaim:
          claimName: db1-data
      - containerDisk:
          image: registry.example/iso
        name: iso
      - cloudInitNoCloud:
          userData: |
            #cloud-config
            password: x
        name: cloudinit
      - emptyDisk:
          capacity: 2Gi
        name: scratch
`

// kubeList is a list with an instance, its machine and a claim, as -o json prints it.
const kubeList = `{
    "apiVersion": "v1",
    "items": [
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachine",
            "metadata": {"name": "web", "namespace": "prod"},
            "spec": {"instancetype": {"name": "u1.large"}, "template": {"spec": {"domain": {"devices": {}}}}}
        },
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstance",
            "metadata": {"name": "web", "namespace": "prod"},
            "spec": {
                "architecture": "amd64",
                "domain": {
                    "cpu": {"cores": 2, "sockets": 3, "threads": 2, "dedicatedCpuPlacement": true,
                            "model": "host-model"},
                    "devices": {
                        "blockMultiQueue": true,
                        "networkInterfaceMultiqueue": true,
                        "disks": [
                            {"name": "a", "disk": {"bus": "virtio"}, "cache": "none"},
                            {"name": "b", "disk": {"bus": "scsi"}, "io": "threads"},
                            {"name": "c", "lun": {"bus": "virtio"}, "shareable": true}
                        ],
                        "interfaces": [
                            {"name": "x", "bridge": {}}, {"name": "y", "passtBinding": {}},
                            {"name": "z", "binding": {"name": "mine"}},
                            {"name": "gone", "bridge": {}, "state": "absent"}
                        ]
                    },
                    "ioThreads": {"supplementalPoolThreadCount": 2},
                    "ioThreadsPolicy": "supplementalPool",
                    "memory": {"guest": "4G", "hugepages": {"pageSize": "1Gi"}}
                },
                "volumes": [
                    {"name": "a", "persistentVolumeClaim": {"claimName": "web-a"}},
                    {"name": "b", "persistentVolumeClaim": {"claimName": "web-b"}},
                    {"name": "c", "persistentVolumeClaim": {"claimName": "web-c"}}
                ]
            },
            "status": {"volumeStatus": [
                {"name": "a", "persistentVolumeClaimInfo": {"volumeMode": "Block"}},
                {"name": "b", "persistentVolumeClaimInfo": {"volumeMode": "Filesystem", "preallocated": true}}
            ]}
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "web-c", "namespace": "prod"},
            "spec": {"volumeMode": "Block"}
        }
    ],
    "kind": "List"
}
`

const kubeListFacts = `guest.cpus prod_web = 12
	guest.cpu prod_web = unknown
	guest.pinned prod_web = on
	guest.hugepages prod_web = on
	guest.memory prod_web = 4000000000
	guest.manager prod_web = kubevirt
	guest.nics prod_web = virtio-net-pci/vhost, virtio-net-pci/vhost-user, virtio-net-pci/unknown
	guest.vhost prod_web = off
	guest.iothreads prod_web = 2
	drive.bus prod_web/a = virtio-blk
	drive.iothread prod_web/a = iothread1, iothread2
	drive.queues prod_web/a = 12
	drive.cache prod_web/a = none
	drive.aio prod_web/a = native
	drive.backend prod_web/a = block device
	drive.discard prod_web/a = unmap
	drive.bus prod_web/b = virtio-scsi
	drive.iothread prod_web/b = none
	drive.cache prod_web/b = unknown
	drive.aio prod_web/b = threads
	drive.backend prod_web/b = raw file
	drive.discard prod_web/b = ignore
	drive.cache prod_web/c = none
	drive.aio prod_web/c = native
	drive.source prod_web/c = claim web-c
	drive.discard prod_web/c = unknown`

func TestPasteOfKubernetes(t *testing.T) {
	compact := strings.Join(strings.Fields(kubeList), " ")
	for _, c := range []struct{ name, text, want string }{
		{"a machine", kubeMachine, `guest.name prod_db1 = prod_db1
			guest.cpus prod_db1 = 8
			guest.cpu prod_db1 = host
			guest.machine prod_db1 = pc-q35-rhel9.4.0
			guest.memory prod_db1 = 1610612736
			guest.hugepages prod_db1 = off
			guest.pinned prod_db1 = absent
			guest.accelerator prod_db1 = unknown
			guest.manager prod_db1 = kubevirt
			guest.nics prod_db1 = e1000e/tap
			guest.iothreads prod_db1 = 2
			drive.bus prod_db1/rootdisk = ahci
			drive.cache prod_db1/rootdisk = unknown
			drive.aio prod_db1/rootdisk = unknown
			drive.backend prod_db1/rootdisk = unknown
			drive.discard prod_db1/rootdisk = unknown
			drive.source prod_db1/rootdisk = claim db1-root
			drive.iothread prod_db1/rootdisk = none
			drive.bus prod_db1/data = virtio-blk
			drive.cache prod_db1/data = writethrough
			drive.aio prod_db1/data = threads
			drive.iothread prod_db1/data = iothread2
			drive.queues prod_db1/data = 0
			drive.bus prod_db1/iso = absent
			drive.bus prod_db1/cloudinit = absent
			drive.iothread prod_db1/cloudinit = absent
			drive.backend prod_db1/scratch = qcow2
			drive.discard prod_db1/scratch = unmap`},
		{"a list in JSON", kubeList, kubeListFacts},
		{"a list in JSON without line ends", compact, kubeListFacts},
		{"between others", "Here it is:\n\n$ kubectl get vm,vmi,pvc -o json\n" + kubeList + "$ sysctl vm.swappiness\n" +
			"vm.swappiness = 10\n", kubeListFacts + "\nmemory.swappiness = 10"},
		{"with words below", "---\n" + kubeMachine + "---\n" + strings.ReplaceAll(kubeMachine, "db1", "db2") +
			"Why is it slow?\n", "drive.cache prod_db1/data = writethrough\ndrive.cache prod_db2/data = writethrough"},
		{"with an instance type and a preference", `kind: VirtualMachine
apiVersion: kubevirt.io/v1
metadata: {name: t}
spec:
  instancetype: {name: u1.large}
  preference: {name: fedora}
  template:
    spec:
      domain:
        devices: {disks: [{name: root}]}
      volumes: [{name: root, ephemeral: {persistentVolumeClaim: {claimName: x}}}]
`, `guest.cpus t = unknown
			guest.memory t = unknown
			guest.hugepages t = unknown
			guest.iothreads t = unknown
			guest.nics t = unknown
			guest.vhost t = unknown
			drive.bus t/root = unknown
			drive.iothread t/root = unknown
			drive.queues t/root = unknown
			drive.backend t/root = qcow2`},
		{"without an architecture", "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: t}\nspec:\n" +
			"  domain:\n    ioThreadsPolicy: auto\n    resources: {limits: {cpu: 500m, memory: 1Gi}}\n    devices:\n" +
			"      autoattachPodInterface: false\n      disks: [{name: a}, {name: b, disk: {bus: virtio}}, " +
			"{name: c, disk: {bus: virtio}}, {name: d, disk: {bus: virtio}}]\n" +
			"  volumes: [{name: a, hostDisk: {path: /srv/a.img}}]\n", `guest.cpus t = 1
			guest.memory t = 1073741824
			guest.iothreads t = 2
			guest.nics t = none
			guest.vhost t = absent
			drive.bus t/a = unknown
			drive.source t/a = /srv/a.img
			drive.backend t/a = raw file
			drive.iothread t/b = iothread1
			drive.iothread t/c = iothread2
			drive.iothread t/d = iothread1
			drive.backend t/d = unknown
			drive.discard t/d = unknown`},
		{"libvirt of KubeVirt", `<domain type='kvm'><name>prod_db1</name><vcpu>4</vcpu><iothreads>2</iothreads>
<sysinfo type='smbios'><system><entry name='manufacturer'>KubeVirt</entry></system></sysinfo><devices>
<disk type='block' device='disk'><driver name='qemu' type='raw' cache='none' io='native' queues='4'><iothreads>
<iothread id='1'/><iothread id='2'/></iothreads></driver><source dev='/dev/a'/><target dev='vda' bus='virtio'/></disk>
<interface type='ethernet'><model type='virtio-non-transitional'/><driver name='vhost' queues='4'/></interface>
<interface type='hostdev'/></devices></domain>`, `guest.manager prod_db1 = kubevirt
			guest.nics prod_db1 = virtio-non-transitional/vhost
			drive.iothread prod_db1/vda = iothread1, iothread2
			drive.queues prod_db1/vda = 4`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Paste(c.name, c.text)
			if err != nil {
				t.Fatal(err)
			}
			check(t, factsOf(t, m), c.want)
		})
	}
}

// kubeVolumes is what "kubectl get sc,pvc,pv -A -o yaml" prints, without what nothing is read from.
const kubeVolumes = `apiVersion: v1
items:
- allowVolumeExpansion: true
  apiVersion: storage.k8s.io/v1
  kind: StorageClass
  metadata:
    creationTimestamp: "2024-03-01T09:12:44Z"
    name: linstor-r2
  parameters:
    linstor.csi.linbit.com/autoPlace: "2"
    linstor.csi.linbit.com/storagePool: nvme
  provisioner: linstor.csi.linbit.com
  reclaimPolicy: Delete
  volumeBindingMode: Immediate
- apiVersion: storage.k8s.io/v1
  kind: StorageClass
  metadata:
    name: unused
  provisioner: kubernetes.io/no-provisioner
  volumeBindingMode: WaitForFirstConsumer
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata:
    name: data-db1-0
    namespace: prod
  spec:
    accessModes:
    - ReadWriteOnce
    resources:
      requests:
        storage: 100Gi
    storageClassName: linstor-r2
    volumeMode: Filesystem
    volumeName: pvc-1
  status:
    phase: Bound
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata:
    annotations:
      volume.kubernetes.io/storage-provisioner: rbd.csi.ceph.com
    name: waiting
    namespace: prod
  spec:
    storageClassName: ceph-block
- apiVersion: v1
  kind: PersistentVolume
  metadata:
    name: pvc-1
  spec:
    capacity:
      storage: 100Gi
    claimRef:
      name: data-db1-0
      namespace: prod
    csi:
      driver: linstor.csi.linbit.com
      fsType: xfs
      volumeAttributes:
        linstor.csi.linbit.com/mount-options: noatime
      volumeHandle: pvc-1
    storageClassName: linstor-r2
- apiVersion: v1
  kind: PersistentVolume
  metadata:
    name: local-nvme
  spec:
    local:
      path: /mnt/nvme0
    nodeAffinity:
      required:
        nodeSelectorTerms:
        - matchExpressions:
          - key: kubernetes.io/hostname
            operator: In
            values:
            - node1
kind: List
metadata:
  resourceVersion: ""
`

func TestClaimsAndClasses(t *testing.T) {
	m, err := Paste("volumes", kubeVolumes)
	if err != nil {
		t.Fatal(err)
	}
	check(t, factsOf(t, m), `claim.class prod/data-db1-0 = linstor-r2
		claim.provisioner prod/data-db1-0 = linstor.csi.linbit.com
		claim.binding prod/data-db1-0 = Immediate
		claim.parameters prod/data-db1-0 = linstor.csi.linbit.com/autoPlace=2, linstor.csi.linbit.com/storagePool=nvme
		claim.remote_access prod/data-db1-0 = true
		claim.driver prod/data-db1-0 = linstor.csi.linbit.com
		claim.attributes prod/data-db1-0 = linstor.csi.linbit.com/mount-options=noatime
		claim.nodes prod/data-db1-0 = any
		claim.replica prod/data-db1-0 = unknown
		claim.class pvc-1 = absent
		claim.class linstor-r2 = absent
		claim.class prod/waiting = ceph-block
		claim.provisioner prod/waiting = rbd.csi.ceph.com
		claim.binding prod/waiting = unknown
		claim.driver prod/waiting = unknown
		claim.class local-nvme = unknown
		claim.driver local-nvme = local
		claim.nodes local-nvme = kubernetes.io/hostname In node1
		claim.replica local-nvme = local
		claim.class unused = unused
		claim.binding unused = WaitForFirstConsumer`)
}

// A claim and its class are printed by two commands.
func TestClaimAndClassApart(t *testing.T) {
	m, err := Paste("apart", "root@cp1:~# kubectl get pvc data -n prod -o yaml\napiVersion: v1\n"+
		"kind: PersistentVolumeClaim\nmetadata:\n  name: data\n  namespace: prod\nspec:\n  storageClassName: longhorn\n"+
		"  volumeName: pvc-1\nroot@cp1:~# kubectl get sc longhorn -o json\n{\n    \"apiVersion\": \"storage.k8s.io/v1\",\n"+
		"    \"kind\": \"StorageClass\",\n    \"metadata\": {\"name\": \"longhorn\"},\n"+
		"    \"parameters\": {\"dataLocality\": \"disabled\"},\n    \"provisioner\": \"driver.longhorn.io\",\n"+
		"    \"volumeBindingMode\": \"Immediate\"\n}\nroot@cp1:~# uname -r\n6.8.0-40-generic\n")
	if err != nil {
		t.Fatal(err)
	}
	check(t, factsOf(t, m), `claim.provisioner prod/data = driver.longhorn.io
		claim.parameters prod/data = dataLocality=disabled
		claim.binding prod/data = Immediate
		claim.class longhorn = absent
		kernel.release = 6.8.0-40-generic`)
}

// A machine and the claim of its disk are printed by two commands, and so are a machine and its instance.
func TestMachineAndClaimApart(t *testing.T) {
	const claim = "$ kubectl get pvc -A -o yaml\nkind: PersistentVolumeClaim\nmetadata: {name: d, namespace: n}\n" +
		"spec: {volumeMode: Block}\n"
	machine := func(kind, spec string) string {
		return "$ kubectl get " + kind + " -o yaml\nkind: " + kind + "\nmetadata: {name: t, namespace: n}\n" +
			"spec:\n  " + spec
	}
	const domain = "domain: {cpu: {cores: 3}, devices: {disks: [{name: a, disk: {bus: virtio}}]}}, " +
		"volumes: [{name: a, persistentVolumeClaim: {claimName: d}}]"
	whole := machine("VirtualMachine", "template: {spec: {"+domain+"}}\n")
	for _, text := range []string{whole + claim, claim + whole,
		whole + claim + machine("VirtualMachineInstance", strings.ReplaceAll(domain, "]}}, ", "]}}\n  ")+"\n")} {
		m, err := Paste("apart", text)
		if err != nil {
			t.Fatal(err)
		}
		d := factsOf(t, m)
		check(t, d, "drive.backend n_t/a = block device\nguest.cpus n_t = 3")
		if n := len(slices.DeleteFunc(d.Facts, func(f lab.Fact) bool { return f.Key != "guest.cpus" })); n != 1 {
			t.Errorf("%d machines in\n%s", n, text)
		}
	}
}

func TestClassesForPeople(t *testing.T) {
	for text, want := range map[string]string{
		"$ kubectl describe sc\nName:                  linstor\nIsDefaultClass:        No\n" +
			"Provisioner:           linstor.csi.linbit.com\n" +
			"Parameters:            linstor.csi.linbit.com/storagePool=pool1,linstor.csi.linbit.com/placementCount=2\n" +
			"ReclaimPolicy:         Delete\nVolumeBindingMode:     Immediate\nEvents:                <none>\n\n\n" +
			"Name:            plain\nProvisioner:     x\nParameters:      <none>\n": `claim.class linstor = linstor
			claim.provisioner linstor = linstor.csi.linbit.com
			claim.parameters linstor = linstor.csi.linbit.com/placementCount=2, linstor.csi.linbit.com/storagePool=pool1
			claim.remote_access linstor = true
			claim.binding linstor = Immediate
			claim.parameters plain = none
			claim.binding plain = unknown`,
		"NAME             PROVISIONER        RECLAIMPOLICY   VOLUMEBINDINGMODE      ALLOWVOLUMEEXPANSION   AGE\n" +
			"fast (default)   rbd.csi.ceph.com   Delete          WaitForFirstConsumer   true                   41d\n" +
			"storageclass.storage.k8s.io/slow   x       Retain          Immediate              false                  9d\n": `
			claim.class fast = fast
			claim.provisioner fast = rbd.csi.ceph.com
			claim.binding fast = WaitForFirstConsumer
			claim.parameters fast = unknown
			claim.binding slow = Immediate`,
		"NAME   PROVISIONER            AGE\nold    kubernetes.io/rbd      3y\n": `claim.provisioner old = kubernetes.io/rbd
			claim.binding old = unknown`,
		"NAME   PROVISIONER   RECLAIMPOLICY   VOLUMEBINDINGMODE   ALLOWVOLUMEEXPANSION   AGE\n" +
			"fast   x             Delete          Immediate           true                   41d\n\n" +
			"$ kubectl get pvc -o yaml\nkind: PersistentVolumeClaim\nmetadata: {name: d}\n" +
			"spec: {storageClassName: fast}\n": `claim.provisioner d = x
			claim.binding d = Immediate
			claim.parameters d = unknown
			claim.class fast = absent`,
	} {
		m, err := Paste("classes", text)
		if err != nil {
			t.Fatal(err)
		}
		check(t, factsOf(t, m), want)
	}
}

func TestKubernetesRefused(t *testing.T) {
	const pod, get = "kubectl get sc,pvc,pv -A -o yaml", "kubectl get vm NAME -o yaml"
	const objects = "claims, volumes and StorageClasses are read"
	for text, says := range map[string]string{
		"Name:          a\nProvisioner:   x\n": "too little is there",
		"allowVolumeExpansion: true\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nprovisioner: x\n": objects,
		"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: PersistentVolumeClaim\n":                       objects,
		"{\n    \"apiVersion\": \"v1\",\n    \"items\": [],\n    \"kind\": \"List\"\n}\n":                 objects,
		"NAME   PROVISIONER   RECLAIMPOLICY\n":                                                            pod,
		"NAMESPACE   NAME   STATUS   VOLUME   CAPACITY\na   b   Bound   pvc-1   8Gi\n":                    pod,
		"NAME      CAPACITY   ACCESS MODES   RECLAIM POLICY\npvc-1     8Gi        RWO    Delete\n":        pod,
		"Name:          a\nNamespace:     b\nStorageClass:  fast\nStatus:        Bound\n":                 pod,
		"NAME   AGE   STATUS    READY\ndb1    3d    Running   True\n":                                     get,
		"Name:         db1\nAPI Version:  kubevirt.io/v1\nKind:         VirtualMachine\n":                 get,
		"apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nspec: [cut\n":                                  "kubectl get -o yaml",
	} {
		_, err := Paste("F", text)
		var e *lab.Error
		if !errors.As(err, &e) || e.Kind != lab.Usage || e.Err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
