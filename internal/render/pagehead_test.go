package render

import "testing"

// The hash is computed from the text as the browser reads it. The example is from
// https://www.w3.org/TR/CSP3/#example-hash.
func TestSourceHash(t *testing.T) {
	if got, want := sourceHash("alert('Hello, world.');"),
		"'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
