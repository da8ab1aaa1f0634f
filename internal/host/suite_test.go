package host_test

import (
	"path/filepath"
	"testing"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/testing/targettest"
)

func TestLocalPassesTheSuite(t *testing.T) {
	targettest.Run(t, func(t *testing.T) host.Target { return host.NewLocal(filepath.Join(t.TempDir(), "jobs")) })
}
