// Package golden compares results of tests with files that a person has reviewed, and reads fixtures. For tests only.
package golden

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Update reports whether tests must write their results: with UPDATE_GOLDEN=1 in the environment. A flag would be
// defined in every program that imports this.
func Update() bool { return os.Getenv("UPDATE_GOLDEN") == "1" }

// Equal fails the test if a file does not contain got, and names the first line that differs. With Update it writes the
// file first.
func Equal(t testing.TB, file, got string) {
	t.Helper()
	if Update() {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; UPDATE_GOLDEN=1 writes it", err)
	}
	if n, g, w := firstDifference(got, string(want)); n > 0 {
		t.Errorf("%s, line %d:\n got %s\nwant %s\nif that is right: UPDATE_GOLDEN=1 go test", file, n, g, w)
	}
}

// firstDifference returns the number of the first line that differs, from 1, and the line in both; 0 for none.
func firstDifference(got, want string) (n int, g, w string) {
	if got == want {
		return 0, "", ""
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if g, w = line(gotLines, i), line(wantLines, i); g != w && rounded(g) != rounded(w) {
			return i + 1, g, w
		}
	}
	return 0, "", ""
}

var decimal = regexp.MustCompile(`\d+\.\d+(e[+-]?\d+)?`)

// readDigits is how many digits of a number are compared.
const readDigits = 12

// rounded shortens numbers with many digits. Processors that fuse multiplications and additions, such as arm64, round
// the last digits differently. Source: "Floating-point operators" in the Go specification.
func rounded(line string) string {
	return decimal.ReplaceAllStringFunc(line, func(text string) string {
		mantissa, _, _ := strings.Cut(text, "e")
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || len(strings.TrimLeft(mantissa, "0.")) <= readDigits {
			return text
		}
		n, _ = strconv.ParseFloat(strconv.FormatFloat(n, 'g', readDigits, 64), 64)
		return strconv.FormatFloat(n, 'f', -1, 64)
	})
}

func line(lines []string, i int) string {
	if i >= len(lines) {
		return "(no line)"
	}
	return lines[i]
}
