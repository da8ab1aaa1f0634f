package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

func fioVersion() []string { return []string{"fio", "--version"} }

func iperfVersion() []string { return []string{"iperf3", "--version"} }

func ToolCommands(collect.Scope) [][]string { return [][]string{fioVersion(), iperfVersion()} }

// CollectTools names the load generators by their version and by a hash: distributions patch fio and build it with
// different engines under the same version.
func CollectTools(r collect.Reader, in collect.Scope) []lab.Fact {
	return []lab.Fact{
		toolVersion(in, "tool.fio.version", fioVersion()), hashOf(r, "fio"),
		toolVersion(in, "tool.iperf3.version", iperfVersion()), hashOf(r, "iperf3"),
	}
}

// toolVersion finds the version in what a tool prints about itself.
//
//	fio-3.39
//	iperf 3.16 (cJSON 1.7.15)
func toolVersion(in collect.Scope, key string, argv []string) lab.Fact {
	source := lab.ShellQuote(argv)
	p := in.Lookup(argv)
	first, _, _ := strings.Cut(p.Stdout, "\n")
	version := strings.TrimPrefix(strings.TrimSpace(first), "fio-")
	if rest, ok := strings.CutPrefix(version, "iperf "); ok {
		version, _, _ = strings.Cut(rest, " ")
	}
	switch version = collect.OneLine(version); {
	case p.Failed != "":
		return collect.Unknown(key, source, p.Failed)
	case version == "":
		return collect.Unknown(key, source, argv[0]+" printed nothing")
	}
	return collect.Known(key, version, source)
}

// hashOf finds a program the way it is found when it is started, and hashes it. A folder of PATH that is closed to this
// user is passed over then, too; it is the reason only where no other folder has the program.
func hashOf(r collect.Reader, program string) lab.Fact {
	key := "tool." + program + ".sha256"
	best := collect.Unknown(key, program, "no program of that name lies in the folders of PATH")
	for _, dir := range SearchPath(r) {
		file := path.Join(dir, program)
		sum, err := sha256Of(r, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			return collect.Known(key, sum, file)
		}
		if best.Source == program {
			best = collect.Unknown(key, file, collect.Why(err))
		}
	}
	return best
}

func sha256Of(r collect.Reader, file string) (string, error) {
	full, err := r.Resolve(file)
	if err != nil {
		return "", err
	}
	f, err := r.Open(full)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// SearchPath is PATH of this process with the folders for system tools behind, as the local target sets it; where PATH
// can't be read, the folders that it commonly names.
func SearchPath(r collect.Reader) []string {
	dirs := []string{"/usr/local/bin", "/usr/bin", "/bin"}
	environment, _ := r.Text("/proc/self/environ")
	for entry := range strings.SplitSeq(environment, "\x00") {
		if list, ok := strings.CutPrefix(entry, "PATH="); ok {
			dirs = strings.Split(list, ":")
		}
	}
	return append(dirs, "/usr/local/sbin", "/usr/sbin", "/sbin")
}
