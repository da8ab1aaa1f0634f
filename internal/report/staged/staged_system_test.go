//go:build system

package staged

import (
	"testing"

	"headroom/internal/testing/rendertest"
)

func TestStagedPagesInChromium(t *testing.T) { rendertest.LookAtPages(t, stagedPages(t)) }
