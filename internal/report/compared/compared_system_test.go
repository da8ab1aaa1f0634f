//go:build system

package compared

import (
	"testing"

	"headroom/internal/testing/rendertest"
)

func TestComparedPagesInChromium(t *testing.T) { rendertest.LookAtPages(t, comparedPages(t)) }
