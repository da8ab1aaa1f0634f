package network

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/testing/factstest"
)

func TestPathsOf(t *testing.T) {
	m := factstest.Saved(t, "nfs-client")
	p, err := NFSPathsOf(t.Context(), m, "/mnt/vm")
	if err != nil {
		t.Fatal(err)
	}
	if want := []NFSTransport{{"rdma", 3322}, {"rdma", 3311}}; !slices.Equal(p.Transports, want) {
		t.Errorf("the transports are %+v", p.Transports)
	}
	if p.Version != "4.2" || p.Options["rsize"] != "1048576" || p.Options["max_connect"] != "2" {
		t.Errorf("%s, %v", p.Version, p.Options)
	}
	if p.Addresses != nil {
		t.Errorf("addresses %v of a kernel that does not say them", p.Addresses)
	}
	if !slices.Contains(p.Others, "/mnt/vm2") || slices.Contains(p.Others, "/mnt/vm") {
		t.Errorf("beside it there is %v", p.Others)
	}
	if _, err := NFSPathsOf(t.Context(), m, "/"); err == nil ||
		!strings.Contains(err.Error(), "no NFS is mounted on /") {
		t.Errorf("of the root: %v", err)
	}
}

// sunrpc is the part of sysfs that shows transports: "SWITCH/xprt-N-KIND" and the address.
func sunrpc(transports map[string]string) collect.Reader {
	files := fstest.MapFS{}
	for name, address := range transports {
		files["sys/kernel/sunrpc/xprt-switches/"+name+"/dstaddr"] = &fstest.MapFile{Data: []byte(address + "\n")}
		files["sys/kernel/sunrpc/xprt-switches/"+name[:strings.IndexByte(name, '/')]+"/xprt_switch_info"] =
			&fstest.MapFile{Data: []byte("num_xprts=2\n")}
	}
	return collect.Reader{FS: files}
}

// A mount's addresses are those of the transports that are as many, of the same kind, and lead to its own address;
// where several sets of them could be it, nobody knows.
func TestAddressesOfAMount(t *testing.T) {
	tcp, rdma := NFSTransport{Kind: "tcp"}, NFSTransport{Kind: "rdma"}
	for _, c := range []struct {
		name       string
		transports []NFSTransport
		sysfs      map[string]string
		want       []string
	}{
		{"one path", []NFSTransport{tcp}, map[string]string{"switch-1/xprt-1-tcp": "10.0.1.1",
			"switch-2/xprt-2-tcp": "10.9.9.9"}, []string{"10.0.1.1"}},
		{"trunked", []NFSTransport{tcp, tcp}, map[string]string{"switch-1/xprt-1-tcp": "10.0.1.1",
			"switch-1/xprt-5-tcp": "10.0.2.1"}, []string{"10.0.1.1", "10.0.2.1"}},
		{"nconnect", []NFSTransport{tcp, tcp}, map[string]string{"switch-1/xprt-1-tcp": "10.0.1.1",
			"switch-1/xprt-5-tcp": "10.0.1.1"}, []string{"10.0.1.1"}},
		{"RDMA beside TCP", []NFSTransport{rdma}, map[string]string{"switch-1/xprt-1-tcp": "10.0.1.1",
			"switch-2/xprt-5-rdma": "10.0.1.1"}, []string{"10.0.1.1"}},
		{"of another mount", []NFSTransport{tcp, tcp}, map[string]string{"switch-1/xprt-1-tcp": "10.0.1.1"}, nil},
		{"of two", []NFSTransport{tcp, tcp}, map[string]string{"switch-1/xprt-1-tcp": "10.0.1.1",
			"switch-1/xprt-2-tcp": "10.0.2.1", "switch-2/xprt-3-tcp": "10.0.1.1", "switch-2/xprt-4-tcp": "10.0.1.1"},
			nil},
		{"an older kernel", []NFSTransport{tcp}, nil, nil},
	} {
		p := NFSPaths{Options: map[string]string{"addr": "10.0.1.1"}, Transports: c.transports}
		if got := p.addresses(rpcSwitches(sunrpc(c.sysfs))); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func FuzzTransportsOfSysfs(f *testing.F) {
	f.Add("xprt-3-tcp", "10.0.1.1\n")
	f.Add("xprt-9-rdma", "fe80::1%eth0\n")
	f.Add("xprt_switch_info", "num_xprts=2\n")
	f.Fuzz(func(t *testing.T, name, address string) {
		if strings.ContainsAny(name, "/\\") || name == "" || strings.Trim(name, ".") == "" {
			return
		}
		files := fstest.MapFS{"sys/kernel/sunrpc/xprt-switches/switch-1/" + name +
			"/dstaddr": &fstest.MapFile{Data: []byte(address)}}
		for _, s := range rpcSwitches(collect.Reader{FS: files}) {
			if len(s.kinds) > 1 || len(s.addresses) != len(s.kinds) ||
				len(s.kinds) == 1 && !strings.HasSuffix(name, s.kinds[0]) {
				t.Errorf("%q with %q: %+v", name, address, s)
			}
		}
	})
}

func TestWires(t *testing.T) {
	m := factstest.Saved(t, "nfs-client")
	for name, text := range map[string]string{
		"sys/class/net/eth9/statistics/rx_bytes": "1000\n", "sys/class/net/eth9/statistics/tx_bytes": "200\n",
		"sys/class/net/lo/statistics/rx_bytes":                      "7\n",
		"sys/class/infiniband/rxe9/ports/1/hw_counters/rcvd_pkts":   "30\n",
		"sys/class/infiniband/rxe9/ports/1/hw_counters/sent_pkts":   "4\n",
		"sys/class/infiniband/mlx9/ports/2/counters/port_rcv_data":  "500\n",
		"sys/class/infiniband/mlx9/ports/2/counters/port_xmit_data": "60\n",
	} {
		m.Files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	w, err := ReadInterfaceCounters(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{"eth9": w.Cards["eth9"], "lo": w.Cards["lo"], "rxe9/1": w.Ports["rxe9/1"],
		"mlx9/2": w.Ports["mlx9/2"]}
	if want := map[string]int64{"eth9": 1200, "lo": 0, "rxe9/1": 34, "mlx9/2": 560}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if ports, err := RDMAPorts(t.Context(), m); !ports || err != nil {
		t.Errorf("RDMA: %v, %v", ports, err)
	}
	if ports, err := RDMAPorts(t.Context(), factstest.Saved(t, "laptop")); ports || err != nil {
		t.Errorf("RDMA of a laptop: %v, %v", ports, err)
	}
}
