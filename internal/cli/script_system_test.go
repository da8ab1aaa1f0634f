//go:build system

package cli

import "testing"

// TestSystemScripts runs the sessions that need fio, loop devices or root.
func TestSystemScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/system")
}
