package suite

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/yamlfile"
)

//go:embed files/*.yaml
var files embed.FS

// Builtin returns the names of the built-in suites, the most useful for beginners first.
func Builtin() []string {
	return []string{"quick", "nvme", "cdm", "nfs", "iothreads", "database", "object", "soak", "layers", "ladder",
		"pgbench", "build", "network", "requests", "rdma"}
}

// Load returns a built-in suite. For an unknown name it returns a usage error that names the nearest one.
func Load(name string) (Suite, error) {
	if !slices.Contains(Builtin(), name) {
		hints := []string{"built in are " + strings.Join(Builtin(), ", "),
			"a suite file is named by its path: ./my.yaml"}
		if near := yamlfile.DidYouMean(name, Builtin()); near != "" {
			hints = slices.Insert(hints, 0, near)
		}
		return Suite{}, &lab.Error{Kind: lab.Usage, What: "there is no built-in suite " + yamlfile.Quoted(name),
			Hints: hints}
	}
	data, err := files.ReadFile("files/" + name + ".yaml")
	if err != nil {
		return Suite{}, fmt.Errorf("reading the built-in suite %s: %w", name, err)
	}
	return Decode(name+".yaml", data)
}
