package factor

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/linux"
)

// The levels of pin:node that are no numbers: the node of the adapter under test, and another one.
const (
	nodeOfAdapter = "nic"
	otherNode     = "other"
)

// pinScheme is pin:, the CPUs that the load generators of a network's two ends run on.
func pinScheme() scheme.Scheme {
	return scheme.Scheme{Name: "pin", Title: "the CPUs that the load generators of a network's two ends run on",
		Class: scheme.OfLoad,
		Needs: "nothing", Syntax: "pin:cpus or pin:node",
		Examples: []string{"pin:node=nic,other", "pin:node=0,1", `pin:cpus="0-3,8",4-7`},
		Levels: "cpus: sets of CPUs; node: nic (that of the adapter under test), other, or numbers of NUMA " +
			"nodes, for CPUs and memory",
		Verified: "taskset or numactl is tried on both ends, and is on the command line of the load",
		Check:    checkPin}
}

func checkPin(name, level string) error {
	switch {
	case name != "cpus" && name != "node":
		return errors.New("pin: takes cpus or node, not " + strconv.Quote(name))
	case level == "" || name == "node" && (level == nodeOfAdapter || level == otherNode):
		return nil
	case name == "cpus":
		_, err := linux.ParseCPUs(level)
		return err
	}
	if n, err := strconv.Atoi(level); err != nil || n < 0 || n > 1023 {
		return errors.New("pin:node is nic, other or the number of a node, not " + strconv.Quote(level))
	}
	return nil
}

// Locality is where the adapter under test hangs: its NUMA node, below 0 where the kernel does not tell, and all nodes
// there are.
type Locality struct {
	Node  int
	Nodes []int
}

// Placement is the command that puts a load on the CPUs that an arm's pin: levels name, in front of the load's own;
// nothing where they name none. Sources: taskset(1), numactl(8).
func Placement(levels map[string]string, at Locality) ([]string, error) {
	var argv []string
	if node := levels["pin:node"]; node != "" && node != scheme.Found {
		n, err := at.nodeFor(node)
		if err != nil {
			return nil, err
		}
		argv = append(argv, "numactl", "--cpunodebind="+strconv.Itoa(n), "--membind="+strconv.Itoa(n))
	}
	if cpus := levels["pin:cpus"]; cpus != "" && cpus != scheme.Found {
		argv = append(argv, "taskset", "-c", linux.CanonicalCPUs(cpus))
	}
	return argv, nil
}

// nodeFor is the number of a node that a level names.
func (l Locality) nodeFor(level string) (int, error) {
	if level != nodeOfAdapter && level != otherNode {
		return strconv.Atoi(level)
	}
	if l.Node < 0 {
		return 0, &lab.Error{Kind: lab.Usage, What: "the kernel does not tell which node the adapter under test " +
			"hangs on", Hints: []string{"numa=off hides it, and virtual adapters have none; name the nodes by " +
			"number: pin:node=0,1"}}
	}
	if level == nodeOfAdapter {
		return l.Node, nil
	}
	i := slices.IndexFunc(l.Nodes, func(n int) bool { return n != l.Node })
	if i < 0 {
		return 0, &lab.Error{Kind: lab.Usage,
			What: fmt.Sprintf("there is no other node than %d, that of the adapter under test", l.Node)}
	}
	return l.Nodes[i], nil
}

// ParseNodes reads a list of nodes as the kernel prints it, "0-1"; what is none is empty.
func ParseNodes(list string) []int {
	nodes, err := linux.ParseCPUs(strings.TrimSpace(list))
	if err != nil {
		return nil
	}
	return nodes
}
