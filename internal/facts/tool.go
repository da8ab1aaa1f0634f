package facts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"headroom/internal/lab"
)

func fioVersion() []string { return []string{"fio", "--version"} }

func toolCommands(Scope) [][]string { return [][]string{fioVersion()} }

// collectTools names the load generator by its version and by a hash: distributions patch fio and build it with different
// engines under the same version.
func collectTools(fsys fs.FS, in Scope) []lab.Fact {
	r := reader{fsys}
	const key = "tool.fio.version"
	source := lab.ShellQuote(fioVersion())
	p := in.lookup(fioVersion())
	version := known(key, strings.TrimPrefix(p.Stdout, "fio-"), source)
	switch {
	case p.Failed != "":
		version = unknown(key, source, p.Failed)
	case p.Stdout == "":
		version = unknown(key, source, "fio printed nothing")
	}
	return []lab.Fact{version, hashOf(r, "fio")}
}

// hashOf finds a program the way it is found when it is started, and hashes it.
func hashOf(r reader, program string) lab.Fact {
	key := "tool." + program + ".sha256"
	for _, dir := range searchPath(r) {
		file := path.Join(dir, program)
		sum, err := sha256Of(r, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return unknown(key, file, why(err))
		}
		return known(key, sum, file)
	}
	return unknown(key, program, "no program of that name lies in the folders of PATH")
}

func sha256Of(r reader, file string) (string, error) {
	full, err := r.resolve(file)
	if err != nil {
		return "", err
	}
	f, err := r.fsys.Open(inside(full))
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

// searchPath is PATH of this process with the folders for system tools behind, as the local target sets it; where PATH
// can't be read, the folders that it commonly names.
func searchPath(r reader) []string {
	dirs := []string{"/usr/local/bin", "/usr/bin", "/bin"}
	environment, _ := r.text("/proc/self/environ")
	for entry := range strings.SplitSeq(environment, "\x00") {
		if list, ok := strings.CutPrefix(entry, "PATH="); ok {
			dirs = strings.Split(list, ":")
		}
	}
	return append(dirs, "/usr/local/sbin", "/usr/sbin", "/sbin")
}
