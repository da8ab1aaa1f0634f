package machine

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

// raidDrivers drive controllers that join disks themselves. mpt3sas and mpi3mr also drive plain SAS adapters.
func raidDrivers() []string {
	return []string{"megaraid_sas", "mpi3mr", "mpt3sas", "smartpqi", "hpsa", "aacraid"}
}

// storcli and its twin perccli print JSON; nolog keeps them from writing a log into the working folder. ssacli prints
// text.
func storcli(program string) []string { return []string{program, "/call/vall", "show", "J", "nolog"} }

func ssacli() []string { return []string{"ssacli", "ctrl", "all", "show", "config", "detail"} }

// RAIDCommands ask only where there is a controller: the tools search every bus for one, and take their time.
func RAIDCommands(in collect.Scope) [][]string {
	if in.Files == nil || len(raidControllers(collect.Reader{FS: in.Files})) == 0 {
		return nil
	}
	return [][]string{storcli("storcli64"), storcli("perccli64"), ssacli()}
}

// raidControllers are PCI functions with the drivers in front: "megaraid_sas 0000:18:00.0".
func raidControllers(r collect.Reader) []string {
	var controllers []string
	for _, driver := range raidDrivers() {
		for _, name := range r.Names("/sys/bus/pci/drivers/" + driver) {
			if isPCIAddress(name) {
				controllers = append(controllers, driver+" "+name)
			}
		}
	}
	return controllers
}

// CollectRAID names the controllers by their drivers, and their cache policy where the maker's tool is installed.
func CollectRAID(r collect.Reader, in collect.Scope) []lab.Fact {
	const key, dir = "machine.raid.controllers", "/sys/bus/pci/drivers"
	if !r.Exists(dir) {
		return []lab.Fact{collect.Unknown(key, dir, "no such file here")}
	}
	controllers := raidControllers(r)
	facts := []lab.Fact{collect.ListOf(key, controllers, dir)}
	if len(controllers) > 0 {
		in.Files = r.FS
		facts = append(facts, cachePolicy(in))
	}
	return facts
}

func cachePolicy(in collect.Scope) lab.Fact {
	const key = "machine.raid.cache_policy"
	var policies, failed []string
	var source string
	for _, argv := range RAIDCommands(in) {
		p := in.Lookup(argv)
		parse := parseStorcli
		if argv[0] == "ssacli" {
			parse = parseSsacli
		}
		found := parse(p.Stdout)
		switch {
		case len(found) > 0:
			policies, source = append(policies, found...), lab.ShellQuote(argv)
		case p.Failed != "":
			failed = append(failed, collect.OneLine(p.Failed))
		}
	}
	if len(policies) > 0 {
		return collect.ListOf(key, policies, source)
	}
	source = lab.ShellQuote(storcli("storcli64"))
	if len(failed) == len(RAIDCommands(in)) {
		return collect.Unknown(key, source, strings.Join(slices.Compact(failed), "; "))
	}
	return collect.Unknown(key, source, "no volume is shown")
}

// maxRAIDVolumes bounds what is taken from a tool's output; a controller has up to 240 volumes.
const maxRAIDVolumes = 1000

// parseStorcli reads the cache policy of every volume: R read-ahead or NR not, WB write back, AWB always, WT write
// through, D direct or C cached. A volume is a row of
//
//	{"DG/VD":"0/239","TYPE":"RAID1","State":"Optl","Access":"RW","Consist":"Yes","Cache":"NRWTD","Cac":"-","sCC":"ON",
//	"Size":"893.750 GB","Name":"boot"}
func parseStorcli(text string) []string {
	type volume struct {
		Name  string `json:"DG/VD"`
		Type  string `json:"TYPE"`
		Cache string `json:"Cache"`
	}
	var out struct {
		Controllers []struct {
			Data struct {
				Volumes []volume `json:"Virtual Drives"`
			} `json:"Response Data"`
		}
	}
	if json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	var found []string
	for _, c := range out.Controllers {
		for _, v := range c.Data.Volumes {
			if v.Cache == "" || len(found) == maxRAIDVolumes {
				continue
			}
			found = append(found, collect.OneLine(v.Name+" "+v.Type+" "+v.Cache))
		}
	}
	return found
}

// parseSsacli reads the lines that speak of caches, of controllers and of their logical drives.
//
//	Cache Board Present: True
//	Drive Write Cache: Disabled
//	      Caching:  Enabled
func parseSsacli(text string) []string {
	var found []string
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok && len(found) < maxRAIDVolumes &&
			slices.Contains([]string{"Drive Write Cache", "Caching", "No-Battery Write Cache", "Cache Status"}, name) {
			found = append(found, collect.OneLine(name+": "+value))
		}
	}
	return found
}

// managementController names the driver of the machine's management controller with the address at which it is spoken
// to:
//
//	/sys/class/ipmi/ipmi0/device/params:  kcs,i/o,0xca2,rsp=1,rsi=1,rsh=0,irq=0,ipmb=32
//
// What it thinks of itself (sensors, its network) is not asked: that takes seconds and a tool.
func managementController(r collect.Reader) lab.Fact {
	const key, dir = "machine.bmc", "/sys/class/ipmi"
	if !r.Exists("/sys/class") {
		return collect.Unknown(key, dir, "no such file here")
	}
	names := r.Names(dir)
	if len(names) == 0 {
		if r.Exists("/dev/ipmi0") {
			return collect.Known(key, "ipmi0", "/dev/ipmi0")
		}
		return collect.Known(key, catalogue.None, dir)
	}
	device := dir + "/" + names[0] + "/device"
	parts := []string{names[0]}
	if driver, err := r.Resolve(device + "/driver"); err == nil {
		parts = append(parts, driver[strings.LastIndexByte(driver, '/')+1:])
	}
	if address, err := r.Text(device + "/params"); err == nil {
		first := strings.SplitN(address, ",", 4)
		parts = append(parts, strings.Join(first[:min(3, len(first))], " "))
	}
	return collect.Known(key, collect.OneLine(strings.Join(parts, " ")), dir)
}
