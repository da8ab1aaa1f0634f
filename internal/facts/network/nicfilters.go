package network

import (
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

// filters counts what looks at the packets of each interface. A clsact or ingress discipline is there to carry filters
// and BPF programs, and tc shows it. Since Linux 6.6 a BPF program can be attached without one (tcx), which only
// bpftool shows.
type filters struct {
	disciplines, programs       map[string]int
	disciplinesErr, programsErr error
	// tcx says that this kernel may hold programs that tc does not show.
	tcx bool
}

func newFilters(r collect.Reader, in collect.Scope) filters {
	var f filters
	f.disciplines, f.disciplinesErr = parseFilterQdiscs(in.Lookup(qdiscCommand()))
	f.programs, f.programsErr = parsePrograms(in.Lookup(programCommand()))
	release, _ := r.Text(collect.ReleasePath)
	major, minor, ok := collect.KernelVersion(release)
	f.tcx = !ok || major > 6 || major == 6 && minor >= 6
	return f
}

func (f filters) of(t *collect.Thing) {
	const key = "nic.tc_filters"
	tc, bpf := lab.ShellQuote(qdiscCommand()), lab.ShellQuote(programCommand())
	here := f.disciplines[t.Name]
	attached := f.programs[t.Name]
	switch {
	case f.programsErr == nil && f.disciplinesErr == nil:
		// A program in clsact is shown by both; the discipline itself is one of the things counted.
		t.Add(collect.Whole(key, int64(here+attached), tc+"; "+bpf))
	case f.disciplinesErr != nil:
		t.Add(collect.Unknown(key, tc, f.disciplinesErr.Error()))
	case here > 0 || !f.tcx:
		t.Add(collect.Whole(key, int64(here), tc))
	default:
		t.Add(collect.Unknown(key, bpf,
			"tc shows none, and programs attached through tcx are shown by bpftool only: "+f.programsErr.Error()))
	}
}

// parseFilterQdiscs counts the disciplines that only carry filters, by interface.
//
//	[{"kind":"mq","handle":"1:","dev":"eth0","root":true,"options":{}},
//	 {"kind":"fq","handle":"8001:","dev":"eth0","parent":"1:1","options":{"limit":10000}},
//	 {"kind":"clsact","handle":"ffff:","dev":"eth0","parent":"ffff:fff1","options":{}}]
func parseFilterQdiscs(p collect.Printed) (map[string]int, error) {
	var list []struct {
		Kind string `json:"kind"`
		Dev  string `json:"dev"`
	}
	if err := readJSON("tc", p, &list); err != nil {
		return nil, err
	}
	found := map[string]int{}
	for _, q := range list {
		if q.Kind == "clsact" || q.Kind == "ingress" {
			found[q.Dev]++
		}
	}
	return found, nil
}

// parsePrograms counts the BPF programs of tc that are attached, by interface.
//
//	[{"xdp":[],"tc":[{"devname":"eth0","ifindex":2,"kind":"tcx/ingress","name":"cil_from_netdev","prog_id":158}]}]
func parsePrograms(p collect.Printed) (map[string]int, error) {
	var list []struct {
		TC []struct {
			Dev string `json:"devname"`
		} `json:"tc"`
	}
	if err := readJSON("bpftool", p, &list); err != nil {
		return nil, err
	}
	found := map[string]int{}
	for _, l := range list {
		for _, program := range l.TC {
			found[program.Dev]++
		}
	}
	return found, nil
}
