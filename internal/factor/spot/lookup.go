package spot

import (
	"context"
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// globScript prints the names that match its arguments, one per line. Only the patterns are expanded: without IFS no
// words are split.
const globScript = `IFS=; for p in "$@"; do for f in $p; do [ -e "$f" ] && printf '%s\n' "$f"; done; done; true`

// Glob lists the files of a target that match, in one round trip; names that can't be listed are omitted.
func Glob(ctx context.Context, t host.Target, patterns ...string) []string {
	out, err := t.Run(ctx, append([]string{"sh", "-c", globScript, "sh"}, patterns...)...)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out.Stdout), "\n"), "\n")[:strings.Count(string(out.Stdout), "\n")]
}

// RealPaths resolves the links in paths, so that two names of one file are recognised as one.
func RealPaths(ctx context.Context, t host.Target, paths []string) ([]string, error) {
	argv := append([]string{"realpath"}, paths...)
	out, err := t.Run(ctx, argv...)
	if err != nil {
		return nil, err
	}
	resolved := strings.Split(strings.TrimSuffix(string(out.Stdout), "\n"), "\n")
	if out.ExitCode != 0 || len(resolved) != len(paths) {
		printed := strings.TrimSpace(string(out.Stderr))
		return nil, &lab.Error{What: fmt.Sprintf("can't find out what %s really is", strings.Join(paths, ", ")),
			Target:  host.RemoteName(t),
			Command: argv, Output: printed, Hints: hintsFor(printed)}
	}
	return resolved, nil
}

// Files returns spots for paths.
func Files(paths []string) []Spot {
	var spots []Spot
	for _, p := range paths {
		spots = append(spots, Spot{Kind: InFile, Path: p})
	}
	return spots
}

// Paths returns the paths of spots.
func Paths(spots []Spot) []string {
	var paths []string
	for _, s := range spots {
		paths = append(paths, s.Path)
	}
	return paths
}
