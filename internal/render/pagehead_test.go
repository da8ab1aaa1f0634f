package render

import "testing"

// A hash is of the text as the browser reads it: https://www.w3.org/TR/CSP3/#example-hash has this one.
func TestSourceHash(t *testing.T) {
	if got, want := sourceHash("alert('Hello, world.');"),
		"'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
