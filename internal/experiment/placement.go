package experiment

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// PinScheme is the scheme of factors that set the CPUs on which the load generators of a network run.
const PinScheme = "pin"

// LocalityOf is where some adapters hang; nowhere where they hang on several nodes.
func LocalityOf(ctx context.Context, t host.Target, adapters []string) (factor.Locality, error) {
	const online = "/sys/devices/system/node/online"
	paths := []string{online}
	for _, name := range adapters {
		paths = append(paths, numaNodeOf(name))
	}
	files, err := t.ReadFiles(ctx, paths...)
	if err != nil {
		return factor.Locality{}, err
	}
	at := factor.Locality{Node: -1, Nodes: factor.ParseNodes(string(files[online].Data))}
	for i, name := range adapters {
		n, err := strconv.Atoi(strings.TrimSpace(string(files[numaNodeOf(name)].Data)))
		if err != nil || i > 0 && n != at.Node {
			at.Node = -1
			break
		}
		at.Node = n
	}
	return at, nil
}

// numaNodeOf is the file with the NUMA node of an adapter.
func numaNodeOf(adapter string) string { return "/sys/class/net/" + adapter + "/device/numa_node" }

// TryPlacement runs nothing at a level.
func TryPlacement(ctx context.Context, t host.Target, name, level string, at factor.Locality) error {
	argv, err := factor.Placement(map[string]string{name: level}, at)
	if err != nil || len(argv) == 0 {
		return err
	}
	argv = append(argv, "true")
	out, err := t.Run(ctx, argv...)
	if err == nil && out.ExitCode == 0 {
		return nil
	}
	return &lab.Error{What: fmt.Sprintf("%s=%s is not available", name, level), Target: host.RemoteName(t),
		Command: argv,
		Output:  strings.TrimSpace(string(out.Stderr)), Err: err,
		Hints: []string{"taskset is in util-linux, numactl in the package of its name; lscpu shows the CPUs and nodes"}}
}
