package facts

import (
	"context"
	"io/fs"
	"time"

	"headroom/internal/lab"
	"headroom/internal/target"
)

// Collector reads one kind of fact. It is a value in the list that Collectors returns.
type Collector struct {
	Name string
	// Commands are the read-only commands whose output Collect looks up in its scope; nil for none.
	Commands func(in Scope) [][]string
	// Collect parses files below "/". It never fails: what it can't read becomes a fact that is unknown, with the reason.
	Collect func(fsys fs.FS, in Scope) []lab.Fact
}

// Scope is what a collector knows besides the files.
type Scope struct {
	Place lab.Place
	// Printed is the output of the collectors' commands, by the command as lab.ShellQuote renders it.
	Printed map[string]Printed
}

// Printed is what a command printed, or why it could not be carried out.
type Printed struct {
	Stdout string
	// Failed is empty when the command ended with exit status 0.
	Failed string
}

// Collectors is the list of all collectors, in the order in which their facts are shown: first what a reader asks
// first.
func Collectors() []Collector {
	return []Collector{
		{Name: "os", Collect: collectOS},
		{Name: "kernel", Collect: collectKernel},
		{Name: "machine", Collect: collectMachine},
		{Name: "cpu", Collect: collectCPU},
		{Name: "vulnerabilities", Collect: collectVulnerabilities},
		{Name: "memory", Collect: collectMemory},
		{Name: "place", Collect: collectPlace},
		{Name: "filesystem", Commands: spaceCommands, Collect: collectFilesystem},
		{Name: "disks", Collect: collectDisks},
		{Name: "cgroup", Collect: collectCgroup},
		{Name: "load", Collect: collectLoad},
		{Name: "tools", Commands: toolCommands, Collect: collectTools},
	}
}

// The time that a snapshot takes at most. A command gets half of it, so that a file system that hangs (stat on a dead NFS
// server) leaves time for everything else.
const (
	snapshotLimit = time.Second
	commandLimit  = 500 * time.Millisecond
)

// Snapshot collects all facts of a target, with those of the place under test. It takes about a second at most, works
// as any user and changes nothing. A collector that does not answer in time leaves the fact "collector.NAME", unknown.
// The error says that the context was cancelled; nothing else stops a snapshot.
func Snapshot(ctx context.Context, t target.Target, place lab.Place) ([]lab.Fact, error) {
	deadline := time.NewTimer(snapshotLimit)
	defer deadline.Stop()
	collectors := Collectors()
	found := make([][]lab.Fact, len(collectors))
	type answer struct {
		index int
		facts []lab.Fact
	}
	// The channel has room for every answer, so that a collector that is late can still end.
	answers := make(chan answer, len(collectors))
	for i, c := range collectors {
		found[i] = []lab.Fact{unknown("collector."+c.Name, "", "did not answer within "+snapshotLimit.String())}
		go func() {
			in := Scope{Place: place}
			if c.Commands != nil {
				in.Printed = runCommands(ctx, t, c.Commands(in))
			}
			answers <- answer{i, c.Collect(t.FS(), in)}
		}()
	}
	for range collectors {
		select {
		case a := <-answers:
			found[a.index] = a.facts
			continue
		case <-deadline.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		break
	}
	var all []lab.Fact
	for _, f := range found {
		all = append(all, f...)
	}
	return all, nil
}

func runCommands(ctx context.Context, t target.Target, commands [][]string) map[string]Printed {
	printed := make(map[string]Printed, len(commands))
	for _, argv := range commands {
		printed[lab.ShellQuote(argv)] = runCommand(ctx, t, argv)
	}
	return printed
}
