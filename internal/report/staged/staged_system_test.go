//go:build system

package staged

import (
	"testing"

	"github.com/headroom/headroom/internal/testing/rendertest"
)

func TestStagedPagesInChromium(t *testing.T) { rendertest.LookAtPages(t, stagedPages(t)) }
