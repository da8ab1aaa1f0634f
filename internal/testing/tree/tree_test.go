// Package tree tests the tree as a whole: which package may import which, what the guides name, how tests and
// workflows are written.
package tree

// root is the root of the tree, where each test works. The tests change to it themselves, since go test does not see a
// change of the folder in TestMain: it would cache their results although files have changed.
const root = "../../.."

// module begins the paths of our packages.
const module = "github.com/headroom/headroom/"
