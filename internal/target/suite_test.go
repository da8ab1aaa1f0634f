package target_test

import (
	"path/filepath"
	"testing"

	"headroom/internal/target"
	"headroom/internal/target/targettest"
)

func TestLocalPassesTheSuite(t *testing.T) {
	targettest.Run(t, func(t *testing.T) target.Target { return target.NewLocal(filepath.Join(t.TempDir(), "jobs")) })
}
