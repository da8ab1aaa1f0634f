package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// versionSchema names the published JSON document of version.
const versionSchema = "headroom/version/v1"

// versionDocument says which headroom this is.
type versionDocument struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
	// Commit that it was built from, absent where the build does not say; Modified says that files differed from it.
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (p *program) versionCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit and the Go version",
		Example: "  headroom version\n  headroom version --json",
		Args:    argumentCount(0, 0, "no argument"),
		RunE:    func(*cobra.Command, []string) error { return p.printVersion() },
	}
	p.jsonFlag(c)
	return c
}

func (p *program) printVersion() error {
	d := versionDocument{Schema: versionSchema, Version: p.Version, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			switch s.Key {
			case "vcs.revision":
				d.Commit = s.Value
			case "vcs.modified":
				d.Modified = s.Value == "true"
			}
		}
	}
	if p.JSON {
		return p.PrintJSON(d)
	}
	parts := []string{d.Go, d.Platform}
	if d.Commit != "" {
		commit := "commit " + d.Commit
		if d.Modified {
			commit += ", modified"
		}
		parts = append([]string{commit}, parts...)
	}
	_, err := fmt.Fprintf(p.Stdout, "headroom %s (%s)\n", d.Version, strings.Join(parts, ", "))
	return err
}
