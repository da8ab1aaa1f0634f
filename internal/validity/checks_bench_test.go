//go:build bench && system

package validity_test

import (
	"testing"
)

func TestGeneratorBound(t *testing.T) {
	t.Parallel()
	b := onLoop(t, "rw")
	expect(t, b.fio("", "ioengine", "null", "direct", "-", "size", "1g"), "generator-bound", true)
	limited := b.fio(b.place.Path, "rate_iops", "200")
	expect(t, limited, "generator-bound", false)
	expect(t, limited, "rate-limited", true)
	expect(t, b.fio(b.place.Path, "rate_iops", "100000000"), "rate-not-reached", true)
}
