//go:build system

package report

import (
	"testing"

	"headroom/internal/render/rendertest"
)

func TestComparedPagesInChromium(t *testing.T) { rendertest.LookAtPages(t, comparedPages(t)) }
