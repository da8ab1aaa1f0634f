//go:build system

package staged

import (
	"testing"

	"headroom/internal/render/rendertest"
)

func TestStagedPagesInChromium(t *testing.T) { rendertest.LookAtPages(t, stagedPages(t)) }
