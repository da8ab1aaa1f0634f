package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// PeerRole is the role of a peer, counted from 2.
func PeerRole(of string, i int) string { return fmt.Sprintf("%s-%d", of, i+2) }

// PeersOfRun are the peers of a role, as a run has kept them.
func PeersOfRun(run lab.Run, role string) []lab.RunTarget {
	return slices.DeleteFunc(slices.Clone(run.Targets), func(t lab.RunTarget) bool {
		return !strings.HasPrefix(t.Role, role+"-")
	})
}
