//go:build bench && system

package validity_test

import (
	"testing"
)

func TestGeneratorBound(t *testing.T) {
	t.Parallel()
	b := onLoop(t, "rw")
	b.expect(codes{"generator-bound": true}, "", "ioengine", "null", "direct", "-", "size", "1g")
	b.expect(codes{"generator-bound": false, "rate-limited": true}, b.place.Path, "rate_iops", "200")
	b.expect(codes{"rate-not-reached": true}, b.place.Path, "rate_iops", "100000000")
}
