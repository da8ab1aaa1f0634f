//go:build system

package varied

import (
	"testing"

	"github.com/headroom/headroom/internal/testing/rendertest"
)

func TestVariedPagesInChromium(t *testing.T) { rendertest.LookAtPages(t, variedPages(t)) }
