package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
)

// versionSchema names the published JSON document of version.
const versionSchema = "headroom/version/v1"

// versionDocument describes this headroom.
type versionDocument struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
	// Commit is the source of the build, and Date its date; both are absent if unknown. Dirty is true if files differed
	// from the commit.
	Commit string `json:"commit,omitempty"`
	Date   string `json:"date,omitempty"`
	Dirty  bool   `json:"dirty"`
	// Modified is Dirty by its former name.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "version",
		Example: "  headroom version\n  headroom version --json",
		Args:    argumentCount(0, 0, "no argument"),
		RunE:    func(*cobra.Command, []string) error { return printVersion(a) },
	}
	flagsOf(a, c).json()
	return c
}

// versionOf returns the version that the linker set, or otherwise the one that Go recorded from the version control
// system.
func versionOf(e app.Environment) versionDocument {
	d := versionDocument{Schema: versionSchema, Version: e.Version, Commit: e.Commit, Date: e.CommitDate,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok || d.Commit != "" {
		return d
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			d.Commit = s.Value
		case "vcs.time":
			d.Date = cmp.Or(d.Date, s.Value)
		case "vcs.modified":
			d.Dirty = s.Value == "true"
			d.Modified = d.Dirty
		}
	}
	return d
}

func printVersion(a *app.App) error {
	d := versionOf(a.Environment)
	if a.JSON {
		return a.PrintJSON(d)
	}
	var parts []string
	if d.Commit != "" {
		commit := "commit " + d.Commit
		if d.Dirty {
			commit += ", modified"
		}
		parts = append(parts, commit)
	}
	if d.Date != "" {
		parts = append(parts, d.Date)
	}
	parts = append(parts, d.Go, d.Platform)
	_, err := fmt.Fprintf(a.Stdout, "headroom %s (%s)\n", d.Version, strings.Join(parts, ", "))
	return err
}
