//go:build system

package guard_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/headroom/headroom/internal/guard"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/targettest"
)

// TestLoopDeviceThatDoesNotAnswer inspects a device while another loop device is backed by a file on a server that does
// not answer. All loop devices are queried for their files to find related ones, and a query that hangs can't be ended.
func TestLoopDeviceThatDoesNotAnswer(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it takes root to mount")
	}
	var gone atomic.Bool
	point := targettest.SilentMount(t, nil, func(request uint32) bool {
		return gone.Load() || request == targettest.FUSERead
	})
	d := newDisk(t, 64<<20)
	d.attach(point + "/image")
	gone.Store(true)
	_, claim, err := guard.Inspect(context.Background(), host.NewLocal(t.TempDir()), d.node)
	e, ok := errors.AsType[*lab.Error](err)
	if !ok || e.What != "a loop device has not answered for 30 s" ||
		!strings.Contains(strings.Join(e.Hints, ""), "loop/backing_file") {
		t.Errorf("%v", err)
	}
	if claim != nil {
		t.Error("the device is held:", claim.Close())
	}
}
