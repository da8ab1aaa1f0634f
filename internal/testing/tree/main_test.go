// Package tree tests the tree as a whole: which package may import which, what the guides name, how tests and
// workflows are written.
package tree

import (
	"fmt"
	"os"
	"testing"
)

// The tests look at files by their paths from the root of the tree.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// module begins the paths of our packages.
const module = "github.com/headroom/headroom/"
