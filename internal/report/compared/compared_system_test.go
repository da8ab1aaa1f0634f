//go:build system

package compared

import (
	"testing"

	"github.com/headroom/headroom/internal/testing/rendertest"
)

func TestComparedPagesInChromium(t *testing.T) { rendertest.LookAtPages(t, comparedPages(t)) }
