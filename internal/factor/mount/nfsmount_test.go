package mount

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

func TestParseNFSMount(t *testing.T) {
	one, two := netip.MustParseAddr("10.0.1.1"), netip.MustParseAddr("10.0.2.1")
	for text, want := range map[string]NFS{
		"10.0.1.1:/srv vers=4.2,proto=rdma": {[]netip.Addr{one}, "/srv",
			[]string{"vers=4.2", "proto=rdma"}},
		"10.0.1.1,10.0.2.1:/ proto=tcp,max_connect=2,noac": {[]netip.Addr{one, two}, "/",
			[]string{"proto=tcp", "max_connect=2", "noac"}},
		"[2001:db8::1]:/srv/a:/b": {[]netip.Addr{netip.MustParseAddr("2001:db8::1")},
			"/srv/a:/b", nil},
		"[2001:db8::],[2001:db8::2]:/x lookupcache=none,hard": {[]netip.Addr{netip.MustParseAddr("2001:db8::"),
			netip.MustParseAddr("2001:db8::2")}, "/x", []string{"lookupcache=none", "hard"}},
	} {
		got, err := ParseNFS(text)
		if err != nil || !slices.Equal(got.Addresses, want.Addresses) || got.Path != want.Path ||
			!slices.Equal(got.Options, want.Options) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if got.String() != text {
			t.Errorf("%s is written %s", text, got)
		}
		if err := checkMount(nfsName, text); err != nil {
			t.Errorf("%s as a level: %v", text, err)
		}
	}
	for _, text := range []string{"", "10.0.1.1", ":/srv", "server:/srv", "10.0.1.1,10.0.1.1:/srv", "10.0.1.1:/srv a b",
		"10.0.1.1:/srv proto=tcp;rm", "10.0.1.1:/srv remount", "10.0.1.1:/srv -o"} {
		if m, err := ParseNFS(text); err == nil {
			t.Errorf("%q is %+v", text, m)
		}
	}
}

func FuzzNFSMount(f *testing.F) {
	f.Add("10.0.1.1:/srv vers=4.2,proto=rdma")
	f.Add("10.0.1.1,10.0.2.1:/srv vers=4.2,proto=tcp,max_connect=2")
	f.Add("[2001:db8::1]:/")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseNFS(text)
		if err != nil {
			return
		}
		again, err := ParseNFS(m.String())
		if err != nil || again.String() != m.String() || len(m.Addresses) == 0 || !strings.HasPrefix(m.Path, "/") {
			t.Errorf("%q is %q, which is %q, %v", text, m, again, err)
		}
	})
}

// Every way in which the kernel silently makes another mount than the one requested is reported by its name.
func TestSilentFallbacks(t *testing.T) {
	tcp, rdma := network.NFSTransport{Kind: "tcp"}, network.NFSTransport{Kind: "rdma"}
	of := func(transports ...network.NFSTransport) []network.NFSTransport { return transports }
	both := []string{"10.0.1.1", "10.0.2.1"}
	for _, c := range []struct {
		asked      string
		transports []network.NFSTransport
		addresses  []string
		options    map[string]string
		others     []string
		want       string // empty where it is as asked
		hint       string
	}{
		{asked: "10.0.1.1:/ proto=tcp,vers=4.2", transports: of(tcp), addresses: both[:1]},
		{asked: "10.0.1.1:/ proto=tcp", transports: of(tcp)},
		{asked: "10.0.1.1:/ proto=tcp,nconnect=4", transports: of(tcp, tcp, tcp, tcp), addresses: both[:1]},
		{asked: "10.0.1.1,10.0.2.1:/ proto=tcp,max_connect=2", transports: of(tcp, tcp), addresses: both,
			others: []string{"/mnt-2"}},
		{asked: "10.0.1.1,10.0.2.1:/ proto=tcp,max_connect=2,nconnect=2", transports: of(tcp, tcp, tcp),
			addresses: both},
		{asked: "10.0.1.1,10.0.2.1:/ proto=rdma,max_connect=2", transports: of(rdma, rdma), addresses: both},
		{asked: "10.0.1.1,10.0.2.1:/ proto=rdma,max_connect=2", transports: of(rdma, rdma)},
		{asked: "10.0.1.1:/ vers=4,rsize=65536,noac", transports: of(tcp), addresses: both[:1],
			options: map[string]string{"vers": "4.2", "rsize": "65536"}},

		{asked: "10.0.1.1,10.0.2.1:/ proto=tcp", transports: of(tcp), addresses: both[:1], others: []string{"/mnt-2"},
			want: "the address 10.0.2.1 of the server is not used: all calls go to 10.0.1.1",
			hint: "max_connect=2 must be among the options"},
		{asked: "10.0.1.1,10.0.2.1:/ proto=tcp,max_connect=2", transports: of(tcp),
			want: "2 transports were asked for, and there is one transport", hint: "count in the first mount"},
		{asked: "10.0.1.1:/ proto=rdma,port=20049", transports: of(tcp), addresses: both[:1],
			options: map[string]string{"proto": "tcp", "port": "2049"}, others: []string{"/home"},
			want: "NFS was asked for RDMA and goes over TCP", hint: "unmount /home before"},
		{asked: "10.0.1.1:/ proto=tcp", transports: of(rdma), want: "NFS was asked for TCP and goes over RDMA",
			hint: "another mount"},
		{asked: "10.0.1.1:/ proto=rdma,nconnect=2", transports: of(rdma), addresses: both[:1],
			want: "nconnect=2 was asked for, and with RDMA it has no effect: there is one transport",
			hint: "max_connect"},
		{asked: "10.0.1.1:/ proto=tcp,nconnect=8", transports: of(tcp, tcp), addresses: both[:1],
			others: []string{"/home"},
			want:   "8 transports were asked for, and there are 2", hint: "unmount /home before"},
		{asked: "10.0.1.1:/ proto=tcp", transports: of(tcp, tcp), addresses: both,
			want: "one transport was asked for, and calls go to 10.0.1.1, 10.0.2.1", hint: "trunked"},
		{asked: "10.0.1.1:/ vers=4.2", transports: of(tcp), options: map[string]string{"vers": "4.0"},
			want: "vers=4.2 was asked for, and the mount has vers=4.0", hint: "nfs(5)"},
		{asked: "10.0.1.1:/ wsize=1048576", transports: of(tcp), options: map[string]string{"wsize": "65536"},
			want: "wsize=1048576 was asked for, and the mount has wsize=65536", hint: "nfs(5)"},
	} {
		m, err := ParseNFS(c.asked)
		if err != nil {
			t.Fatal(err)
		}
		err = m.differs(network.NFSPaths{Options: c.options, Transports: c.transports, Addresses: c.addresses,
			Others: c.others}, []string{"/mnt", "/mnt-2"})
		if c.want == "" {
			if err != nil {
				t.Errorf("%s with %v: %v", c.asked, c.transports, err)
			}
			continue
		}
		if err == nil || err.Error() != c.want || lab.KindOf(err) != lab.Refused ||
			!strings.Contains(strings.Join(spot.HintsOf(err), "\n"), c.hint) {
			t.Errorf("%s with %v: %v, %q; want %s, %s", c.asked, c.transports, err, spot.HintsOf(err), c.want, c.hint)
		}
	}
}

func TestModulesOfAnNFSMount(t *testing.T) {
	const printed = "builtin configfs\ninsmod /lib/modules/6.1/kernel/net/sunrpc/sunrpc.ko \ninsmod " +
		"/lib/modules/6.1/kernel/net/dns_resolver/dns-resolver.ko.xz x=1\ninsmod /lib/modules/6.1/nfsv4.ko.zst\n"
	if got := parseDepends(printed); !slices.Equal(got, []string{"sunrpc", "dns_resolver", "nfsv4"}) {
		t.Errorf("%q", got)
	}
}

func FuzzDepends(f *testing.F) {
	f.Add("builtin configfs\ninsmod /lib/modules/6.1.0-50-amd64/kernel/net/sunrpc/sunrpc.ko\n")
	f.Add("insmod /lib/modules/6.12.57/kernel/fs/nfs/nfsv4.ko.xz delay=1\n")
	f.Add("insmod -\ninsmod .ko\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range parseDepends(text) {
			if name == "" || strings.ContainsAny(name, "-/ \n") {
				t.Errorf("%q of %q", name, text)
			}
		}
	})
}

// A mount and the folders for it are undone in the order in which nothing stands in the way, and the mount is gone
// after a reboot.
func TestSpotsOfAnNFSMount(t *testing.T) {
	m, err := ParseNFS("10.0.1.1,[2001:db8::1]:/srv proto=tcp,max_connect=2")
	if err != nil {
		t.Fatal(err)
	}
	// This machine has the module, or none that could be loaded; both ways are tried in guests.
	s, err := NFSSetting(t.Context(), host.NewLocal(t.TempDir()), m, "/run/x")
	if err != nil {
		t.Fatal(err)
	}
	s.Spots = slices.DeleteFunc(s.Spots, func(place spot.Spot) bool { return place.Kind == spot.InModules })
	var got []string
	for _, place := range s.Spots {
		for _, value := range []string{map[string]string{spot.InFolder: spot.IsThere,
			spot.InNFS: spot.IsMounted}[place.Kind], spot.Absent} {
			if err := place.Write(t.Context(), recorder{commands: &got}, "mark", value, spot.Absent); err != nil {
				t.Fatal(err)
			}
		}
		if place.Kind == spot.InNFS && place.OutlivesBoot() {
			t.Errorf("%s is said to be there after a boot", place)
		}
	}
	want := []string{"mark mkdir -m 755 /run/x", "mark rmdir /run/x",
		"mark 10.0.1.1:/srv /run/x proto=tcp,max_connect=2,retry=0", "mark /run/x",
		"mark mkdir -m 755 /run/x-2", "mark rmdir /run/x-2",
		"mark [2001:db8::1]:/srv /run/x-2 proto=tcp,max_connect=2,retry=0", "mark /run/x-2"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// recorder is a target that only writes down which commands it is given, by their arguments.
type recorder struct {
	host.Target
	commands *[]string
}

func (r recorder) Run(_ context.Context, argv ...string) (host.Output, error) {
	*r.commands = append(*r.commands, strings.Join(argv[3:], " "))
	return host.Output{}, nil
}
