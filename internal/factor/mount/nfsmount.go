package mount

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// NFS is an NFS mount as it is asked for.
type NFS struct {
	// Addresses of the server: with more than one the mount is trunked over all of them.
	Addresses []netip.Addr
	// Path is what is mounted, as the server's clients name it.
	Path string
	// Options as mount.nfs takes them: "vers=4.2", "proto=rdma", "max_connect=2".
	Options []string
}

// NFSFactor is the name under which the journal keeps such a mount.
const NFSFactor = "mount:" + nfsName

const nfsName = "nfs"

var nfsOption = prose.Pattern(`^[a-z][a-z0-9_]*(=[A-Za-z0-9_.:/-]+)?$`)

// ParseNFS reads a mount as a level is written: the addresses of the server, a colon, the path, and after a space
// the options.
//
//	10.0.1.1:/srv vers=4.2,proto=rdma
//	10.0.1.1,10.0.2.1:/srv vers=4.2,proto=tcp,max_connect=2
//	[2001:db8::1]:/
func ParseNFS(text string) (NFS, error) {
	var m NFS
	source, options, _ := strings.Cut(text, " ")
	at := strings.Index(source, ":/")
	if at <= 0 || strings.ContainsRune(options, ' ') {
		return m, errors.New("an NFS mount is written ADDRESS:/PATH OPTIONS, unlike " + strconv.Quote(text))
	}
	m.Path = source[at+1:]
	for text := range strings.SplitSeq(source[:at], ",") {
		a, err := netip.ParseAddr(strings.Trim(text, "[]"))
		if err != nil {
			return m, errors.New(strconv.Quote(text) + " is no address of a server")
		}
		if slices.Contains(m.Addresses, a) {
			return m, errors.New("the address " + text + " stands twice")
		}
		m.Addresses = append(m.Addresses, a)
	}
	if options == "" {
		return m, nil
	}
	for o := range strings.SplitSeq(options, ",") {
		if !nfsOption().MatchString(o) || o == "remount" || o == "bind" {
			return m, errors.New(strconv.Quote(o) + " is no option of an NFS mount")
		}
		m.Options = append(m.Options, o)
	}
	return m, nil
}

// String is the mount as ParseNFS reads it.
func (m NFS) String() string {
	var addresses []string
	for _, a := range m.Addresses {
		addresses = append(addresses, bracketed(a))
	}
	return strings.TrimSuffix(strings.Join(addresses, ",")+":"+m.Path+" "+strings.Join(m.Options, ","), " ")
}

// bracketed is an address as it stands before a colon.
func bracketed(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}

// Option is the value of an option that is asked for; empty where it is not.
func (m NFS) Option(name string) string {
	for _, o := range m.Options {
		if n, value, _ := strings.Cut(o, "="); n == name {
			return value
		}
	}
	return ""
}

// NFSSetting returns an NFS mount on a target as a setting that a journal makes and undoes. folder is the mount point;
// it must not exist, and is removed when the mount is undone. Each of several addresses has a separate mount, the
// others in folders with a number after the name: that is how a client learns of them. Source: nfs(5), max_connect.
//
// A mount that differs from the request is an error. Modules that it needs are loaded before, and unloaded with it.
func NFSSetting(ctx context.Context, t host.Target, m NFS, folder string) (scheme.Setting, error) {
	s := scheme.Setting{Factor: NFSFactor, Target: t}
	var err error
	if s.Spots, err = nfsModules(ctx, t, m); err != nil {
		return s, err
	}
	values := slices.Repeat([]string{spot.IsLoaded}, len(s.Spots))
	points := nfsPoints(m, folder)
	for i, a := range m.Addresses {
		s.Spots = append(s.Spots, spot.Spot{Kind: spot.InFolder, Path: points[i]},
			spot.Spot{Kind: spot.InNFS, Path: points[i], Name: bracketed(a) + ":" + m.Path,
				Options: strings.Join(m.Options, ",")})
		values = append(values, spot.IsThere, spot.IsMounted)
	}
	s.Values = func(string) ([]string, error) { return values, nil }
	s.Later = func(ctx context.Context, _ string) (func(context.Context) error, error) {
		verify := func(ctx context.Context) error {
			p, err := network.NFSPathsOf(ctx, t, folder)
			if err == nil {
				err = m.differs(p, points)
			}
			var own *lab.Error
			if errors.As(err, &own) && own.Target == "" {
				own.Target = host.RemoteName(t)
			}
			return err
		}
		return verify, verify(ctx)
	}
	return s, nil
}

// nfsFolder is the prefix by which headroom recognises its own mount points.
const nfsFolder = "/run/headroom-"

// NFSFolder returns a mount point for headroom. Its name has the id, so that it can't be another program's folder.
func NFSFolder(id string) string { return nfsFolder + strings.ToLower(id) + "-nfs" }

// nfsMounts returns the setting of the mount on one of headroom's folders: each level is a mount, which is made for the
// level and undone before the next.
func nfsMounts(t host.Target, folder string) (scheme.Setting, error) {
	if !strings.HasPrefix(folder, nfsFolder) {
		return scheme.Setting{}, &lab.Error{Kind: lab.Usage, What: NFSFactor + " makes its own mounts, and " +
			folder +
			" is there already",
			Hints: []string{"leave the directory out: headroom sweep SUITE --factor '" + NFSFactor +
				`="10.0.1.1:/srv vers=4.2,nconnect=1","10.0.1.1:/srv vers=4.2,nconnect=4"'`}}
	}
	return scheme.Setting{Spots: []spot.Spot{{Kind: spot.InFolder, Path: folder}},
		At: func(ctx context.Context, level string) (scheme.Setting, error) {
			m, err := ParseNFS(level)
			if err != nil {
				return scheme.Setting{}, err
			}
			return NFSSetting(ctx, t, m, folder)
		}}, nil
}

// nfsPoints returns the folder on which each address is mounted.
func nfsPoints(m NFS, folder string) []string {
	points := []string{folder}
	for i := 1; i < len(m.Addresses); i++ {
		points = append(points, folder+"-"+strconv.Itoa(i+1))
	}
	return points
}

// differs returns how a mount differs from the request; nil if it does not. points are the mount's own mount points.
func (m NFS) differs(p network.NFSPaths, points []string) error {
	others := slices.DeleteFunc(slices.Clone(p.Others), func(point string) bool {
		return slices.Contains(points, point)
	})
	refuse := func(hint, format string, args ...any) error {
		e := &lab.Error{Kind: lab.Refused, What: fmt.Sprintf(format, args...), Hints: []string{hint}}
		if len(others) > 0 {
			e.Hints = append([]string{"mounts of one server share its connections: unmount " +
				strings.Join(others, ", ") + " before"}, e.Hints...)
		}
		return e
	}
	if err := m.otherKind(p, refuse); err != nil {
		return err
	}
	for _, o := range m.Options {
		name, asked, hasValue := strings.Cut(o, "=")
		got, shown := p.Options[name]
		if !hasValue || !shown || name == "proto" || name == "port" || got == asked ||
			name == "vers" && strings.HasPrefix(got, asked+".") {
			continue
		}
		return refuse("nfs(5) describes which options the server and its other mounts decide",
			"%s=%s was asked for, and the mount has %s=%s", name, asked, name, got)
	}
	for _, a := range m.Addresses {
		if p.Addresses != nil && !slices.Contains(p.Addresses, a.String()) {
			return refuse(fmt.Sprintf("max_connect=%d must be among the options of the first mount of the server",
				len(m.Addresses)),
				"the address %s of the server is not used: all calls go to %s", a, strings.Join(p.Addresses, ", "))
		}
	}
	return m.otherNumber(p, refuse)
}

// otherKind is an error where calls go over another transport than was asked for.
func (m NFS) otherKind(p network.NFSPaths, refuse func(hint, format string, args ...any) error) error {
	asked := strings.TrimSuffix(m.Option("proto"), "6")
	for _, t := range p.Transports {
		if asked == "" || t.Kind == asked {
			continue
		}
		return refuse("another mount of the server came first, or it listens for "+strings.ToUpper(
			asked)+" on another port",
			"NFS was asked for %s and goes over %s", strings.ToUpper(asked), strings.ToUpper(t.Kind))
	}
	return nil
}

// otherNumber is an error where there are fewer or more transports than were asked for: nconnect of them to the first
// address, and one to each of the others. Source: the kernel's fs/nfs/client.c and nfs4client.c (nfs4_add_trunk), and
// what 6.1 did.
func (m NFS) otherNumber(p network.NFSPaths, refuse func(hint, format string, args ...any) error) error {
	connections, err := strconv.Atoi(m.Option("nconnect"))
	if err != nil || connections < 1 {
		connections = 1
	}
	want := connections + len(m.Addresses) - 1
	if len(p.Transports) == want && (p.Addresses == nil || len(p.Addresses) == len(m.Addresses)) {
		return nil
	}
	if rdma := p.Transports[0].Kind == "rdma"; rdma && connections > 1 && len(p.Transports) < want {
		return refuse("several RDMA transports take as many addresses of the server, and max_connect",
			"nconnect=%d was asked for, and with RDMA it has no effect: there %s",
			connections, areTransports(len(p.Transports)))
	}
	if len(p.Addresses) > len(m.Addresses) {
		return refuse("another mount of the server is trunked", "%s asked for, and calls go to %s",
			wereTransports(want), strings.Join(p.Addresses, ", "))
	}
	return refuse("nconnect and max_connect count in the first mount of a server only", "%s asked for, and there %s",
		wereTransports(want), areTransports(len(p.Transports)))
}

func wereTransports(n int) string {
	if n == 1 {
		return "one transport was"
	}
	return strconv.Itoa(n) + " transports were"
}

func areTransports(n int) string {
	if n == 1 {
		return "is one transport"
	}
	return "are " + strconv.Itoa(n)
}

// ConfigFile is text for a file of a machine, with what it costs: headroom mounts and unmounts, and changes no file.
type ConfigFile struct {
	Where, Name string
	Lines       []string
	Cost        string
}

// ConfigFiles returns the files of client and server that restore a mount after a boot. Each of several addresses has a
// separate line, because that is how a client learns of them. Sources: fstab(5), nfs(5), nfs.conf(5),
// modules-load.d(5); Proxmox VE's administration guide, "NFS Backend"; the kernel's
// Documentation/admin-guide/nfs/nfs-rdma.rst.
func (m NFS) ConfigFiles(onProxmox bool) []ConfigFile {
	const indent = "        "
	name := path.Base(m.Path)
	if name == "/" {
		name = "nfs"
	}
	rdma := m.Option("proto") == OverRDMA
	var files []ConfigFile
	client := ConfigFile{Where: "the client", Name: "/etc/fstab",
		Cost: "a boot waits for the server unless nofail is added"}
	if onProxmox {
		client = ConfigFile{Where: "the client", Name: "/etc/pve/storage.cfg",
			Cost: "it counts for all nodes of the cluster: each must reach the addresses" +
				map[bool]string{true: " and have RDMA"}[rdma]}
	}
	for i, a := range m.Addresses {
		as := name
		if i > 0 {
			as += fmt.Sprintf("-path%d", i+1)
		}
		if onProxmox {
			client.Lines = append(client.Lines, "nfs: "+as, indent+"server "+a.String(), indent+"export "+m.Path,
				indent+"path /mnt/pve/"+as, indent+"content images", indent+"options "+strings.Join(m.Options, ","), "")
			continue
		}
		one := NFS{Addresses: []netip.Addr{a}, Path: m.Path}
		client.Lines = append(client.Lines, fmt.Sprintf("%s /mnt/%s nfs4 %s,_netdev 0 0", inFstab(one.String()),
			inFstab(as), strings.Join(m.Options, ",")))
	}
	if len(m.Addresses) > 1 {
		client.Cost += "; all mounts of a server share its connections, so what else is mounted of it must be " +
			"unmounted first. Use the first mount: the others only tell the client of their addresses"
	}
	if last := len(client.Lines) - 1; client.Lines[last] == "" {
		client.Lines = client.Lines[:last]
	}
	files = append(files, client)
	if rdma {
		files = append(files,
			ConfigFile{Where: "the server", Name: "/etc/nfs.conf",
				Lines: []string{"[nfsd]", "rdma=y", "rdma-port=" + m.Option("port")},
				Cost: "nfsd is restarted (systemctl restart nfs-server): clients wait for its grace period, 90 s " +
					"by default"},
			ConfigFile{Where: "client and server", Name: "/etc/modules-load.d/nfs-rdma.conf",
				Lines: []string{"rpcrdma"},
				Cost:  "none; without it RDMA is there only once something has loaded the module"})
	}
	return files
}

// inFstab writes blanks as fstab(5) does.
func inFstab(text string) string { return strings.ReplaceAll(text, " ", `\040`) }
