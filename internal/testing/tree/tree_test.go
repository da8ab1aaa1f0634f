// Package tree tests the tree as a whole: which package may import which, the names in the guides, the form of tests
// and workflows.
package tree

// root is the root of the tree, where each test works. The tests change to it themselves, since go test does not see a
// change of the folder in TestMain: it would cache their results although files have changed.
const root = "../../.."

// module is the prefix of the paths of our packages.
const module = "github.com/headroom/headroom/"
