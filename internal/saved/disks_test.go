package saved

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// diskPastes are outputs about disks, and what they say.
func diskPastes() []pasteCase {
	const smart = "critical_warning\t\t\t: 0x4\ntemperature\t\t\t\t: 82 °C (355 K, 180 °F)\navailable_spare\t\t\t\t: 8%\n" +
		"available_spare_threshold\t\t: 10%\npercentage_used\t\t\t\t: 103%\nmedia_errors\t\t\t\t: 1,234\n" +
		"Warning Temperature Time\t\t: 17\nTemperature Sensor 1\t\t\t: 99 °C (372 K, 210 °F)\n"
	const worn = `disk.nvme.temperature D = 81.85
			disk.nvme.spare D = 8
			disk.nvme.wear D = 103
			disk.nvme.media_errors D = 1234
			disk.nvme.throttled D = 17
			disk.size D = unknown
			disk.nvme.paths D = unknown
			disk.driver D = absent`
	said := func(disk string) string { return strings.ReplaceAll(worn, " D ", " "+disk+" ") }
	return []pasteCase{
		{"lsblk with a tree", "$ lsblk\nNAME          MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINTS\n" +
			"loop0           7:0    0    62M  1 loop  /snap/a\nsda             8:0    0 931,5G  0 disk  \n" +
			"├─sda1          8:1    0     1G  0 part  /boot\n└─sda2          8:2    0 930,5G  0 part  \n" +
			"  └─luks      253:0    0 930,5G  0 crypt \n    └─vg-root 253:1    0   800G  0 lvm   /\n" +
			"                                         /srv/my data\n" +
			"sdb             8:16   0     5G  0 disk  \n└─mpatha      253:2    0     5G  0 mpath \n" +
			"sdc             8:32   0     5G  0 disk  \n└─mpatha      253:2    0     5G  0 mpath \n" +
			"sr0            11:0    1  1024M  0 rom   \nnvme0n1       259:0    0     0B  0 disk  \n",
			`disk.name sda = sda
			disk.size sda = 1000190509056
			disk.driver sda = sd
			disk.removable sda = 0
			disk.holders sda = absent
			disk.name loop0 = absent
			disk.name sr0 = absent
			disk.name nvme0n1 = absent
			disk.transport sda = absent
			volume.name dm-1 = vg-root
			volume.kind dm-1 = lvm
			volume.members dm-1 = dm-0
			volume.disks dm-1 = sda
			volume.kind dm-0 = crypt
			volume.members dm-0 = sda2
			multipath.name dm-2 = mpatha
			multipath.paths dm-2 = 2
			multipath.members dm-2 = sdb, sdc
			multipath.active dm-2 = absent`},
		{"a part of a tree", "# lsblk /dev/sdb\nNAME     MAJ:MIN RM SIZE RO TYPE  MOUNTPOINT\n" +
			"sdb        8:16   0   5G  0 disk  \n`-mpatha 253:2    0   5G  0 mpath \n", `disk.size sdb = 5368709120
			volume.kind dm-2 = multipath
			volume.members dm-2 = absent
			multipath.paths dm-2 = absent
			multipath.name dm-2 = mpatha`},
		{"lsblk -s", "NAME     MAJ:MIN TYPE\nmpatha   253:2   mpath\n├─sdb      8:16  disk\n└─sdc      8:32  disk\n",
			`multipath.members dm-2 = sdb, sdc`},
		{"lsblk of an array", "NAME      TYPE    START PHY-SEC MIN-IO OPT-IO ALIGNMENT SIZE\n" +
			"sda       disk             4096   4096      0         0  10G\n" +
			"|-sda1    part       63    4096   4096      0      3584   1G\n" +
			"`-sda2    part     2048    4096   4096      0         0   9G\n" +
			"  `-md0   raid1            4096   4096      0         0   9G\n" +
			"    `-md0p1 part  2048     4096   4096      0         0   9G\n", `disk.partitions.misaligned sda = sda1
			disk.queue.physical_block_size sda = 4096
			disk.queue.optimal_io_size sda = 0
			disk.alignment_offset sda = 0
			volume.kind md0 = md
			volume.md.level md0 = raid1
			volume.members md0 = sda2
			disk.name md0p1 = absent`},
		{"lsblk -t", "NAME    ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA SCHED RQ-SIZE   RA WSAME\n" +
			"sda             0   4096      0    4096     512    1 bfq        64  128    0B\n" +
			"nvme0n1         0    512      0     512     512    0 none     1023 4096    0B\n" +
			"md0             0   4096   8192    4096     512    0                4096    0B\n", `disk.rotational sda = 1
			disk.queue.scheduler sda = bfq
			disk.queue.nr_requests sda = 64
			disk.queue.read_ahead_kb sda = 128
			disk.queue.scheduler nvme0n1 = none
			disk.queue.logical_block_size nvme0n1 = 512
			disk.nvme.format nvme0n1 = absent
			disk.driver nvme0n1 = absent
			volume.queue.optimal_io_size md0 = 8192
			volume.queue.read_ahead_kb md0 = 4096
			volume.queue.scheduler md0 = absent`},
		{"lsblk -S", "NAME HCTL       TYPE VENDOR   MODEL             REV SERIAL         TRAN\n" +
			"sda  0:0:0:0    disk ATA      Samsung SSD 860  4B6Q S3Z00000000000 sas\n" +
			"sdb  1:0:0:0    disk SEAGATE  ST8000NM001A     E004 ZA000000       sas\n" +
			"sdc  2:0:0:0    disk Generic  Flash Disk       8.07                usb\n", `disk.model sda = Samsung SSD 860
			disk.firmware sda = 4B6Q
			disk.transport sda = sata
			disk.transport sdb = sas
			disk.model sdc = Flash Disk
			disk.firmware sdc = 8.07
			disk.transport sdc = usb
			disk.serial sda = absent`},
		{"lsblk -r", "NAME SIZE ROTA MODEL MOUNTPOINT\nsda 1G 1 My\\x20disk \nsda1 1G 1  /srv\\x20a\n", `disk.model sda = My disk
			disk.rotational sda = 1
			disk.name sda1 = absent`},
		{"lsblk without its blanks", "NAME MODEL ROTA SCHED RA\nsda Samsung SSD 860 0 none 128\nsdb 1 bfq 256\n",
			`disk.name sda = sda
			disk.rotational sda = absent
			disk.rotational sdb = absent
			disk.queue.read_ahead_kb sdb = absent`},
		{"lsblk -P", "NAME=\"nvme0n1\" MAJ:MIN=\"259:0\" SIZE=\"512110190592\" ROTA=\"0\" TYPE=\"disk\" MODEL=\"A B\"\n" +
			"NAME=\"nvme0n1p1\" MAJ:MIN=\"259:1\" SIZE=\"1048576\" ROTA=\"0\" TYPE=\"part\" MODEL=\"\"\n",
			`disk.size nvme0n1 = 512110190592
			disk.model nvme0n1 = A B
			disk.rotational nvme0n1 = 0`},
		{"lsblk of which lines were taken", "$ lsblk -ndo NAME,ROTA,SCHED,DISC-MAX | grep -v loop\nsda 1 none 2T\n" +
			"sdb 0 mq-deadline 2147450880\nsdc 0 none\n# lsblk | grep nvme\n" +
			"nvme0n1     259:0    0 953.9G  0 disk \n├─nvme0n1p1 259:1    0   512M  0 part /boot\n", `disk.rotational sda = 1
			disk.queue.scheduler sdb = mq-deadline
			disk.queue.discard_max_bytes sda = absent
			disk.queue.discard_max_bytes sdb = 2147450880
			disk.name sdc = absent
			disk.size nvme0n1 = 1024242325504`},
		{"lsblk -J", "$ lsblk -J -o NAME,KNAME,ROTA,SIZE,TYPE,MOUNTPOINTS,MQ\n{\n   \"blockdevices\": [\n      {\n" +
			"\"name\":\"sda\", \"kname\":\"sda\", \"rota\":true, \"size\":\"10G\", \"type\":\"disk\", \"mountpoints\":[null], \"mq\":\"  4\",\n" +
			"\"children\":[{\"name\":\"sda1\",\"kname\":\"sda1\",\"rota\":\"1\",\"size\":1073741824,\"type\":\"part\"},\n" +
			"{\"name\":\"vg-a\",\"kname\":\"dm-7\",\"rota\":true,\"size\":1073741824,\"type\":\"lvm\"}]\n      }\n   ]\n}\n" +
			"{\"lscpu\": [{\"field\":\"CPU(s):\",\"data\":\"4\"},{\"field\":\"On-line CPU(s) list:\",\"data\":\"0-3\"}]}\n",
			`disk.rotational sda = 1
			disk.size sda = 10737418240
			disk.queue.hardware sda = 4
			volume.members dm-7 = sda
			volume.size dm-7 = 1073741824
			cpu.threads = 4`},
		{"parts of LVM that lsblk calls alike", "NAME              KNAME TYPE\nsda               sda   disk\n" +
			"`-vg-pool_tdata   dm-1  lvm\n  `-vg-pool-tpool dm-2  lvm\n    `-vg-thin     dm-3  lvm\n",
			`volume.kind dm-3 = unknown
			volume.members dm-3 = dm-2
			volume.disks dm-3 = sda`},
		{"nvme list of old", "Node             SN                   Model                                    Namespace Usage                      Format           FW Rev  \n" +
			"---------------- -------------------- ---------------------------------------- --------- -------------------------- ---------------- --------\n" +
			"/dev/nvme0n1     S00000000000000      SAMSUNG MZQL21T9HCJR-00A07               1           1.92  TB /   1.92  TB    512   B +  0 B   GDC5602Q\n" +
			"/dev/nvme1n1     vol00000000000000000 Amazon Elastic Block Store               1           0.00   B / 107.37  GB      4 KiB +  8 B   1.0     \n",
			`disk.model nvme0n1 = SAMSUNG MZQL21T9HCJR-00A07
			disk.firmware nvme0n1 = GDC5602Q
			disk.nvme.format nvme0n1 = 512+0
			disk.nvme.format nvme1n1 = 4096+8
			disk.model nvme1n1 = Amazon Elastic Block Store
			disk.size nvme0n1 = unknown
			disk.serial nvme0n1 = absent`},
		{"nvme list", "# nvme list | grep nvme0\n/dev/nvme0n1          /dev/ng0n1            S000                 Dell Ent NVMe v2 AGN RI U.2 1.92TB       0x1          1.92  TB /   1.92  TB    512   B +  0 B   2.1.8   \n",
			`disk.model nvme0n1 = Dell Ent NVMe v2 AGN RI U.2 1.92TB
			disk.firmware nvme0n1 = 2.1.8
			disk.nvme.format nvme0n1 = 512+0`},
		{"nvme list -v", "Subsystem        Subsystem-NQN                      Controllers\n----\n" +
			"nvme-subsys0     nqn.2014.08.org.nvmexpress:x       nvme0\n\n" +
			"Device           Cntlid SN                   MN                 FR       TxPort Address        Slot   Subsystem    Namespaces      \n" +
			"nvme0    6      S000                 SAMSUNG PM9A3      GDC5602Q pcie   0000:41:00.0          nvme-subsys0 nvme0n1\n" +
			"nvme1    1      S001                 Linux              6.1      tcp    traddr=10.0.0.1,trsvcid=4420          nvme-subsys1 nvme1n1\n\n" +
			"Device            Generic           NSID       Usage                      Format           Controllers     \n" +
			"/dev/nvme0n1 /dev/ng0n1   0x1          1.92  TB /   1.92  TB    512   B +  0 B   nvme0\n", `disk.transport nvme0n1 = pcie
			disk.driver nvme0n1 = nvme
			disk.nvme.format nvme0n1 = 512+0
			disk.model nvme0n1 = absent
			disk.transport nvme1 = tcp
			disk.driver nvme1 = nvme_tcp`},
		{"nvme list -o json", `{
  "Devices":[{"NameSpace":1,"DevicePath":"/dev/nvme0n1","Firmware":"GDC5602Q","ModelNumber":"SAMSUNG PM9A3","SerialNumber":"S000",
  "UsedBytes":1,"MaximumLBA":3750748848,"PhysicalSize":1920383410176,"SectorSize":512}]
}
{"Devices":[{"Subsystems":[{"Controllers":[{"Controller":"nvme1","ModelNumber":"SAMSUNG PM9A3","Firmware":"GDC5602Q","Transport":"pcie",
"Namespaces":[{"NameSpace":"nvme1n1","NSID":1,"PhysicalSize":1920383410176,"SectorSize":4096}]}]}]}]}
`, `disk.size nvme0n1 = 1920383410176
			disk.model nvme0n1 = SAMSUNG PM9A3
			disk.queue.logical_block_size nvme0n1 = 512
			disk.model nvme1n1 = SAMSUNG PM9A3
			disk.driver nvme1n1 = nvme
			disk.queue.logical_block_size nvme1n1 = 4096
			disk.size nvme1n1 = 1920383410176`},
		{"nvme id-ctrl", "root@db1:~# nvme id-ctrl /dev/nvme0\nNVME Identify Controller:\nvid       : 0x144d\nsn        : S000\n" +
			"mn        : SAMSUNG PM9A3                           \nfr        : GDC5602Q\nmdts      : 9\nwctemp    : 343\nvwc       : 0x7\n" +
			"ioccsz    : 0\nroot@db1:~# nvme id-ctrl -H /dev/nvme1n1 | grep -i volatile\n  [0:0] : 0\tVolatile Write Cache Not Present\n",
			`disk.model nvme0 = SAMSUNG PM9A3
			disk.firmware nvme0 = GDC5602Q
			disk.queue.write_cache nvme0 = write back
			disk.nvme.temperature.warning nvme0 = 69.85
			disk.driver nvme0 = nvme
			disk.transport nvme0 = pcie
			disk.nvme.max_transfer nvme0 = absent
			disk.queue.write_cache nvme1n1 = write through
			disk.driver nvme1n1 = absent`},
		{"a controller across a network", "# nvme id-ctrl /dev/nvme0\nNVME Identify Controller:\nvid       : 0\nmn        : Linux\nvwc       : 0\nioccsz    : 4\n",
			`disk.queue.write_cache nvme0 = write through
			disk.driver nvme0 = absent`},
		{"a controller and its namespaces", "$ sudo nvme id-ctrl /dev/nvme0 | grep -E 'vwc|mn '\nmn        : Samsung SSD 980 PRO 1TB\nvwc       : 0x1\n" +
			"$ sudo nvme id-ctrl /dev/nvme1 -o json\n{\"mn\":\"Other\",\"vwc\":1}\n" +
			"$ lsblk -dno NAME,MODEL\nnvme0n1 Samsung_SSD_980\nnvme0n2 Samsung_SSD_980\nnvme1n1 Third\n",
			`disk.queue.write_cache nvme0n1 = write back
			disk.queue.write_cache nvme0n2 = write back
			disk.name nvme0 = absent
			disk.queue.write_cache nvme1n1 = absent`},
		{"nvme id-ns", "# nvme id-ns -H /dev/nvme0n1 | grep LBA\n  [3:0] : 0\tLeast significant 4 bits of Current LBA Format Selected\n" +
			"LBA Format  0 : Metadata Size: 0   bytes - Data Size: 512 bytes - Relative Performance: 0x2 Good (in use)\n" +
			"LBA Format  1 : Metadata Size: 0   bytes - Data Size: 4096 bytes - Relative Performance: 0 Best \n" +
			"# nvme id-ns /dev/nvme1n1\nNVME Identify Namespace 1:\nnlbaf   : 1\nflbas   : 0x1\nlbaf  0 : ms:0   lbads:9  rp:0x2 \nlbaf  1 : ms:8   lbads:12 rp:0 (in use)\n" +
			"# nvme id-ns -H /dev/nvme2n1 | grep 'in use'\nLBA Format  0 : Metadata Size: 0   bytes - Data Size: 512 bytes - Relative Performance: 0x2 Good (in use)\n" +
			"# nvme id-ns /dev/nvme3n1 --output-format=json\n{\n  \"nlbaf\" : 1,\n  \"flbas\" : 0,\n  \"lbafs\" : [ { \"ms\" : 0, \"ds\" : 9, \"rp\" : 1 }, { \"ms\" : 0, \"ds\" : 12, \"rp\" : 0 } ]\n}\n",
			`disk.nvme.format nvme0n1 = 512+0
			disk.nvme.formats nvme0n1 = 512+0 rp2, 4096+0 rp0
			disk.nvme.better_format nvme0n1 = 4096+0
			disk.nvme.format nvme1n1 = 4096+8
			disk.nvme.better_format nvme1n1 = none
			disk.nvme.format nvme2n1 = 512+0
			disk.nvme.better_format nvme2n1 = absent
			disk.nvme.better_format nvme3n1 = 4096+0`},
		{"nvme smart-log", "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\n" + smart, said("nvme0n1")},
		{"nvme smart-log by the command", "# nvme smart-log /dev/ng1n1 | head -40\n" + smart, said("nvme1n1")},
		{"nvme smart-log of several", "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\ntemperature : 37 C\npercentage_used : 3%\nmedia_errors : 1.234.567\n" +
			"Smart Log for NVME device: nvme1 namespace-id:ffffffff\ntemperature : -273 °C (0 K, -459 °F)\npercentage_used : 99%\n",
			`disk.nvme.temperature nvme0n1 = 36.85
			disk.nvme.wear nvme0n1 = 3
			disk.nvme.media_errors nvme0n1 = 1234567
			disk.nvme.wear nvme1 = 99
			disk.nvme.temperature nvme1 = absent`},
		{"nvme smart-log -o json", "$ nvme smart-log -o json /dev/nvme0n1\n{\n  \"critical_warning\" : 4,\n  \"temperature\" : 355,\n  \"avail_spare\" : 8,\n" +
			"  \"percent_used\" : 103,\n  \"media_errors\" : \"1234\",\n  \"warning_temp_time\" : 17\n}\n", said("nvme0n1")},
		{"smartctl of a SATA drive", "$ sudo smartctl -x /dev/sdb2\nsmartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)\n\n=== START OF INFORMATION SECTION ===\n" +
			"Device Model:     Samsung SSD 860 EVO 500GB\nSerial Number:    S000\nFirmware Version: RVT04B6Q\nUser Capacity:    500.107.862.016 bytes [500 GB]\n" +
			"Sector Sizes:     512 bytes logical, 4096 bytes physical\nRotation Rate:    Solid State Device\n" +
			"SATA Version is:  SATA 3.2, 6.0 Gb/s (current: 3.0 Gb/s)\nWrite cache is:   Enabled\n\n=== START OF READ SMART DATA SECTION ===\n" +
			"177 Wear_Leveling_Count     0x0013   099   099   000    Pre-fail  Always       -       17\n194 Temperature_Celsius     0x0022   030   100   000\n",
			`disk.model sdb = Samsung SSD 860 EVO 500GB
			disk.firmware sdb = RVT04B6Q
			disk.size sdb = 500107862016
			disk.queue.logical_block_size sdb = 512
			disk.queue.physical_block_size sdb = 4096
			disk.rotational sdb = 0
			disk.link sdb = 3.0 Gbps
			disk.queue.write_cache sdb = write back
			disk.transport sdb = absent
			disk.nvme.wear sdb = absent
			disk.serial sdb = absent`},
		{"smartctl of a SAS drive", "# smartctl -x /dev/sdc\nsmartctl 7.3 2022-02-28 r5338\nVendor:               SEAGATE\nProduct:              ST4000NM0023\nRevision:             0004\n" +
			"User Capacity:        4 000 787 030 016 bytes [4,00 TB]\nLogical block size:   512 bytes\nRotation Rate:        7200 rpm\nTransport protocol:   SAS (SPL-3)\n" +
			"Read Cache is:        Enabled\nWriteback Cache is:   Disabled\n# smartctl -a /dev/sdd | grep -i rotation\nRotation Rate:        10500 rpm\n",
			`disk.model sdc = ST4000NM0023
			disk.firmware sdc = 0004
			disk.size sdc = 4000787030016
			disk.rotational sdc = 1
			disk.transport sdc = sas
			disk.queue.write_cache sdc = write through
			disk.queue.physical_block_size sdc = absent
			disk.rotational sdd = 1`},
		{"smartctl of an NVMe drive", "$ sudo smartctl -a /dev/nvme0\nsmartctl 7.2 2020-12-30 r5155\nModel Number:                       WDC WDS500G2B0C-00PXH0\nFirmware Version:                   211210WD\n" +
			"Namespace 1 Size/Capacity:          500,107,862,016 [500 GB]\nNamespace 1 Formatted LBA Size:     512\nWarning  Comp. Temp. Threshold:     80 Celsius\n\n" +
			"Supported LBA Sizes (NSID 0x1)\nId Fmt  Data  Metadt  Rel_Perf\n 0 +     512       0         2\n 1 -    4096       0         1\n\n" +
			"Temperature:                        81 Celsius\nAvailable Spare:                    100%\nPercentage Used:                    3%\n" +
			"Media and Data Integrity Errors:    0\nWarning  Comp. Temperature Time:    5\n", `disk.model nvme0 = WDC WDS500G2B0C-00PXH0
			disk.size nvme0 = 500107862016
			disk.queue.logical_block_size nvme0 = 512
			disk.nvme.temperature nvme0 = 80.85
			disk.nvme.temperature.warning nvme0 = 79.85
			disk.nvme.wear nvme0 = 3
			disk.nvme.media_errors nvme0 = 0
			disk.nvme.throttled nvme0 = 5
			disk.nvme.better_format nvme0 = 4096+0`},
		{"smartctl -j", `{"smartctl":{"version":[7,3]},"device":{"name":"/dev/sda","info_name":"/dev/sda [SAT]","type":"sat"},"model_name":"ST1000NM0008",
"firmware_version":"SN01","user_capacity":{"blocks":1953525168,"bytes":1000204886016},"logical_block_size":512,"physical_block_size":4096,"rotation_rate":7200,
"interface_speed":{"max":{"string":"6.0 Gb/s"},"current":{"string":"1.5 Gb/s"}},"write_cache":{"enabled":false}}
{"smartctl":{"version":[7,3]},"device":{"name":"/dev/sdb","info_name":"/dev/sdb [megaraid_disk_05]","type":"megaraid,5"},"model_name":"HIDDEN"}
{"smartctl":{"version":[7,4]},"device":{"name":"/dev/nvme0","type":"nvme"},"model_name":"KIOXIA","nvme_composite_temperature_threshold":{"warning":82},
"nvme_smart_health_information_log":{"temperature":38,"available_spare":100,"percentage_used":2,"media_errors":0,"warning_temp_time":0},
"nvme_namespaces":[{"id":1,"lba_formats":[{"formatted":true,"data_bytes":512,"metadata_bytes":0,"relative_performance":2},
{"formatted":false,"data_bytes":4096,"metadata_bytes":0,"relative_performance":0}]}]}
`, `disk.model sda = ST1000NM0008
			disk.size sda = 1000204886016
			disk.rotational sda = 1
			disk.link sda = 1.5 Gbps
			disk.queue.write_cache sda = write through
			disk.name sdb = absent
			disk.nvme.temperature nvme0 = 37.85
			disk.nvme.temperature.warning nvme0 = 81.85
			disk.nvme.wear nvme0 = 2
			disk.nvme.better_format nvme0 = 4096+0`},
		{"multipath -ll", "mpatha (36001405e5bf5c158c4e4a5398ccba2cc) dm-2 LIO-ORG,data\nsize=5.0G features='1 queue_if_no_path' hwhandler='1 alua' wp=rw\n" +
			"`-+- policy='round-robin 0' prio=50 status=active\n  |- 3:0:0:0  sdb 8:16 active ready running\n  |- 4:0:0:0  sdc 8:32 active ready running\n  `- 10:0:0:0 sdd 8:48 failed faulty running\n" +
			"360a98000 dm-3 NETAPP,LUN\nsize=1.0T features='0' hwhandler='0' wp=rw\n|-+- policy='service-time 0' prio=50 status=enabled\n| `- 3:0:0:1 sde 8:64 active ready running\n" +
			"`-+- policy='service-time 0' prio=10 status=enabled\n  `- 4:0:0:1 sdf 8:80 active ready running\n", `multipath.name dm-2 = mpatha
			multipath.paths dm-2 = 3
			multipath.active dm-2 = 2
			multipath.groups dm-2 = 1
			multipath.policy dm-2 = round-robin
			multipath.members dm-2 = sdb, sdc, sdd
			volume.size dm-2 = 5368709120
			multipath.groups dm-3 = 2
			multipath.active dm-3 = absent
			disk.name = unknown`},
		{"several about one disk", "$ lsblk -do NAME,ROTA,SIZE\nNAME    ROTA   SIZE\nnvme0n1    0 931.5G\n$ nvme smart-log /dev/nvme0 | grep used\npercentage_used : 95%\n" +
			"$ lsblk -bdo NAME,SIZE\nNAME             SIZE\nnvme0n1 1000204886016\n$ cat /sys/block/nvme0n1/queue/nr_requests\n1023\n", `disk.rotational nvme0n1 = 0
			disk.nvme.wear nvme0n1 = 95
			disk.size nvme0n1 = 1000204886016
			disk.queue.nr_requests nvme0n1 = 1023
			disk.name nvme0 = absent`},
		{"files of disks", "$ grep . /sys/block/*/queue/scheduler\n/sys/block/sda/queue/scheduler:[none] mq-deadline\n" +
			"/sys/block/nvme0n1/queue/scheduler:none [bfq]\n$ cat /sys/block/sda/sda1/start\n63\n" +
			"$ cat /sys/class/block/sda/queue/physical_block_size\n4096\n", `disk.queue.scheduler sda = none
			disk.queue.scheduler nvme0n1 = bfq
			disk.partitions.misaligned sda = sda1
			disk.driver sda = sd
			volume.name = unknown`},
	}
}

// Nothing is said of a disk that no text names.
func TestPasteOfNoDisk(t *testing.T) {
	const smart = "smartctl 7.3 2022\nDevice Model:     A\n"
	const busy = "Device            r/s     rkB/s   rrqm/s  %rrqm r_await\nsda              0.50     20.00     0.00   0.00\n"
	for _, c := range [][2]string{
		{"vwc       : 0x7\n", "holds no facts"},
		{"NVME Identify Controller:\nvid       : 0x144d\nvwc       : 0x7\n", "nvme id-ctrl /dev/nvme0"},
		{"NVME Identify Namespace 1:\nlbaf  0 : ms:0   lbads:9  rp:0x2 (in use)\n", "nvme id-ctrl /dev/nvme0"},
		{smart, "nvme id-ctrl /dev/nvme0"},
		{"$ smartctl -a -d megaraid,5 /dev/sda\n" + smart, "smartctl"},
		{"$ smartctl -i /dev/sda; smartctl -i /dev/sdb\n" + smart, "smartctl"},
		{"$ nvme smart-log /dev/disk/by-id/nvme-A\npercentage_used : 3%\n", "nvme smart-log"},
		{"{\"percent_used\": 3, \"avail_spare\": 100}\n", "JSON"},
		{"{\"unknown\": 3}\n", "holds no facts"},
		{busy, "headroom run"},
		{"NAME   SIZE  ALLOC   FREE\ntank  1.8T   1T   0.8T\n", "holds no facts"},
	} {
		m, err := Paste("F", c[0])
		if err == nil {
			t.Errorf("%q: %+v", c[0], factsOf(t, m).Facts)
		} else if !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: %v", c[0], err)
		}
	}
	// The second output has no prompt of its own.
	m, err := Paste("F", "$ smartctl -i /dev/sda\nsmartctl 7.3 2022\nDevice Model:     A\nsmartctl 7.3 2022\nDevice Model:     B\nRotation Rate:    7200 rpm\n")
	if err != nil {
		t.Fatal(err)
	}
	check(t, factsOf(t, m), "disk.model sda = A\ndisk.rotational sda = absent")
	if !slices.ContainsFunc(m.Unread, func(u string) bool { return strings.Contains(u, "line with the command") }) {
		t.Errorf("%q", m.Unread)
	}
}

// What a report has of disks beside the machine's files counts where these say nothing.
func TestReportOfDisks(t *testing.T) {
	files := report()
	const top = "sosreport-db1-2026/sos_commands/"
	files[top+"block/lsblk_-t"] = "NAME      ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA SCHED       RQ-SIZE  RA WSAME\n" +
		"nvme0n1           0    512      0     512     512    0 mq-deadline    1023 128    0B\n" +
		"vda               0    512      0     512     512    0 none            256 128    0B\n"
	files[top+"nvme/nvme_smart-log_.dev.nvme0n1"] = "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\npercentage_used : 3%\n"
	files[top+"nvme/nvme_id-ctrl_.dev.nvme0n1"] = "NVME Identify Controller:\nmn        : A\nvwc       : 0\n"
	files[top+"nvme/smartctl_-i_.dev.sda"] = "smartctl 7.3 2022\nRotation Rate:    7200 rpm\n"
	files[top+"multipath/multipath_-ll"] = "mpatha (36001405) dm-2 LIO-ORG,data\nsize=5.0G features='0' hwhandler='0' wp=rw\n" +
		"`-+- policy='service-time 0' prio=50 status=active\n  `- 3:0:0:0  sdb 8:16 active ready running\n"
	m, err := Bytes("A", tarOf(t, files))
	if err != nil {
		t.Fatal(err)
	}
	check(t, factsOf(t, m), reportFacts+`
		disk.queue.nr_requests nvme0n1 = 1023
		disk.rotational vda = 1
		disk.nvme.wear nvme0n1 = 3
		disk.model nvme0n1 = A
		disk.queue.write_cache nvme0n1 = write through
		disk.nvme.paths nvme0n1 = 1
		disk.rotational sda = 1
		multipath.active dm-2 = 1`)
}

// TestLSBLK compares what lsblk of this machine says with the files of /sys that it reads.
func TestLSBLK(t *testing.T) {
	for _, options := range [][]string{{"-J", "-O"}, {"-O"}, {"-P", "-O"}, {"-r", "-O"}, {"-t", "-b"}} {
		out, err := exec.Command("lsblk", options...).Output()
		if err != nil || len(out) == 0 {
			t.Skip("lsblk lists nothing here")
		}
		m, err := Paste("F", "$ lsblk "+strings.Join(options, " ")+"\n"+string(out))
		if err != nil {
			t.Skipf("%v: no disks here", err)
		}
		for _, f := range factsOf(t, m).Facts {
			file, ok := map[string]string{"disk.queue.nr_requests": "queue/nr_requests",
				"disk.rotational":               "queue/rotational",
				"disk.queue.logical_block_size": "queue/logical_block_size",
				"disk.queue.read_ahead_kb":      "queue/read_ahead_kb",
				"disk.queue.minimum_io_size":    "queue/minimum_io_size"}[f.Key]
			if data, err := os.ReadFile("/sys/class/block/" + f.About + "/" + file); ok && err == nil &&
				strings.TrimSpace(string(data)) != f.Value {
				t.Errorf("%s of %s with %q is %q, in /sys %q", f.Key, f.About, options, f.Value, data)
			}
		}
	}
}
