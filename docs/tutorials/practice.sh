#!/bin/sh
# Makes what the tutorials measure, and removes it: disks in memory, a control group with a limit, two hosts in network
# namespaces, and two emulated guests. Run it as root. The names of all of them begin with "practice", or with the value
# of PRACTICE: with another value a second set fits on the same machine.
set -eu
practice=${PRACTICE:-practice}
root=/tmp/$practice
memory=/dev/shm/$practice

# disk NAME: a disk of 512 MiB in memory, with ext4, at $root/NAME.
disk() {
	mkdir -p "$root/$1"
	truncate -s 512M "$memory.$1"
	device=$(losetup --find --show "$memory.$1")
	queue=/sys/block/${device#/dev/}/queue
	for setting in scheduler nr_requests read_ahead_kb max_sectors_kb; do # a loop device keeps them when it is detached
		echo "$setting=$(sed 's/.*\[\(.*\)\].*/\1/' "$queue/$setting")"
	done >"$root/$1.queue"
	for setting in scheduler=none nr_requests=128 read_ahead_kb=128 max_sectors_kb=1280; do
		echo "${setting#*=}" >"$queue/${setting%=*}"
	done
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$device"
	mount "$device" "$root/$1"
}

# limit: the control group, whose processes read and write 20 MiB/s of $device at most.
limit() {
	number=$(lsblk --noheadings --nodeps --output MAJ:MIN "$device" | tr -d ' ')
	bytes=$((20 * 1024 * 1024))
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		echo +io >/sys/fs/cgroup/cgroup.subtree_control
		mkdir "/sys/fs/cgroup/$practice"
		echo "$number rbps=$bytes wbps=$bytes" >"/sys/fs/cgroup/$practice/io.max"
		procs=/sys/fs/cgroup/$practice/cgroup.procs
	else
		mkdir "/sys/fs/cgroup/blkio/$practice"
		for way in read write; do
			echo "$number $bytes" >"/sys/fs/cgroup/blkio/$practice/blkio.throttle.${way}_bps_device"
		done
		procs=/sys/fs/cgroup/blkio/$practice/cgroup.procs
	fi
}

# hosts: two network namespaces, a link between them, and a limit of 50 Mbit/s that somebody forgot at one end.
hosts() {
	for host in a b; do
		ip netns add "$practice-$host"
		ip -n "$practice-$host" link set lo up
	done
	ip -n "$practice-a" link add link0 type veth peer name link0 netns "$practice-b"
	for host in a b; do
		ip -n "$practice-$host" link set link0 up
	done
	ip -n "$practice-a" address add 198.18.0.1/30 dev link0
	ip -n "$practice-b" address add 198.18.0.2/30 dev link0
	tc -n "$practice-a" qdisc add dev link0 root tbf rate 50mbit burst 1mb latency 50ms
}

# guest NAME ARGUMENTS: the description of an emulated guest of Debian's kernel, with an IOMMU and an NVMe disk in memory.
guest() {
	cat >"$root/$1.yaml" <<-END
		version: 1
		kernel: $kernel
		arguments: [$2]
		iommu: intel
		accelerator: emulation
		limit: 20m
		disks:
		  - {name: fast, kind: nvme, size: 128m, backing: memory}
	END
}

# ssh_to NAME COMMAND...: has ssh reach NAME through an sshd of its own, which COMMAND starts. No port is opened.
ssh_to() {
	name=$1
	shift
	if [ ! -e "$root/key" ]; then
		mkdir -p /run/sshd
		ssh-keygen -q -t ed25519 -N "" -f "$root/key"
		cp "$root/key.pub" "$root/authorized_keys"
		cat >"$root/sshd_config" <<-END
			HostKey $root/key
			AuthorizedKeysFile $root/authorized_keys
			StrictModes no
			UsePAM no
			PermitRootLogin prohibit-password
			Subsystem sftp internal-sftp
		END
	fi
	cat >>"$root/ssh_config" <<-END
		Host $name
		 ProxyCommand $* /usr/sbin/sshd -i -f $root/sshd_config
		 IdentityFile $root/key
		 IdentitiesOnly yes
		 UserKnownHostsFile $root/known_hosts
		 StrictHostKeyChecking accept-new
	END
}

# need COMMAND PACKAGE...: ends with what to install where a command is missing.
need() {
	while [ $# -gt 0 ]; do
		command -v "$1" >/dev/null || {
			echo "$1 is missing: apt install $2, or your system's package of it" >&2
			exit 1
		}
		shift 2
	done
}

remove() {
	for place in "$root"/*/; do
		mountpoint -q "$place" || continue
		device=$(findmnt -no SOURCE "$place")
		umount "$place"
		while IFS== read -r setting value; do
			echo "$value" >"/sys/block/${device#/dev/}/queue/$setting"
		done <"${place%/}.queue"
		losetup --detach "$device"
	done
	for host in a b; do
		[ ! -e "/run/netns/$practice-$host" ] || ip netns delete "$practice-$host"
	done
	for folder in "/sys/fs/cgroup/$practice" "/sys/fs/cgroup/blkio/$practice"; do
		tries=0
		while [ -d "$folder" ] && ! rmdir "$folder"; do # its last process may still be ending
			[ $((tries += 1)) -lt 60 ] || exit 1
			sleep 1
		done
	done
	rm -rf "$root" "$memory".*
}

case "${1:-}" in
disk | container | disks | hosts | guests)
	[ "$(id -u)" = 0 ] || {
		echo "run this as root: it makes disks, control groups and network namespaces" >&2
		exit 1
	}
	command -v headroom >/dev/null || {
		echo "headroom is not in the PATH: make install, in its repository" >&2
		exit 1
	}
	need fio fio mkfs.ext4 e2fsprogs losetup mount
	remove
	;;
esac
case "${1:-}" in
disk)
	disk disk
	echo "made $root/disk"
	;;
container)
	need /usr/sbin/sshd openssh-server ssh openssh-client
	disk disk
	limit
	ssh_to machine
	# shellcheck disable=SC2016 # the shell that ssh starts expands it
	ssh_to container sh -c "'echo \$\$ >$procs && exec \"\$@\"'" sh
	echo "made $root/disk, and the machines ssh://machine and ssh://container"
	;;
disks)
	disk fast
	disk slow
	for setting in nr_requests=64 read_ahead_kb=256 max_sectors_kb=4; do
		echo "${setting#*=}" >"$queue/${setting%=*}"
	done
	mount -o remount,noatime "$root/slow"
	echo "made $root/fast and $root/slow"
	;;
hosts)
	need /usr/sbin/sshd openssh-server ssh openssh-client ip iproute2 tc iproute2 iperf3 iperf3
	disk disk
	hosts
	ssh_to a ip netns exec "$practice-a"
	ssh_to b ip netns exec "$practice-b"
	echo "made $root/disk, and the hosts ssh://a and ssh://b"
	;;
guests)
	need qemu-system-x86_64 qemu-system-x86 busybox busybox-static /usr/sbin/sshd openssh-server apt-get apt
	kernel=$("$(dirname "$0")/../../scripts/guest-kernel" linux-image-amd64)
	mkdir -p "$root"
	guest a audit=0
	guest b "audit=0, iommu.strict=1"
	echo "described the guests $root/a.yaml and $root/b.yaml"
	;;
remove)
	remove
	;;
*)
	echo "usage: practice.sh disk|container|disks|hosts|guests|remove" >&2
	exit 2
	;;
esac
