package tree

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// In the list of unstable tests each row is open, or records whether the fault was in the test or in the program and
// how it was fixed. If there is no open row, a test that becomes unstable again gets a new one.
func TestUnstableTests(t *testing.T) {
	t.Chdir(root)
	rows := lines(t, "test/unstable.tsv")
	if rows[0] != "test\tdate\tsymptom\tcause" {
		t.Fatalf("test/unstable.tsv begins with %q", rows[0])
	}
	var tests strings.Builder
	for _, file := range goFiles(t, true) {
		if strings.HasSuffix(file.name, "_test.go") {
			tests.WriteString(strings.Join(lines(t, file.name), "\n"))
		}
	}
	cause := regexp.MustCompile(`^(open|test: .+|program: .+)$`)
	for _, line := range rows[1:] {
		row := strings.Split(line, "\t")
		if len(row) != 4 {
			t.Errorf("%q has %d columns, want 4", line, len(row))
			continue
		}
		if _, err := time.Parse(time.DateOnly, row[1]); err != nil {
			t.Errorf("%s: %v", row[0], err)
		}
		if row[2] == "" || !cause.MatchString(row[3]) {
			t.Errorf(`%s: say the symptom, and the cause as "open", "test: HOW MENDED" or "program: HOW MENDED"`, row[0])
		}
		if row[3] == "open" && !strings.Contains(tests.String(), "func "+row[0]+"(") {
			t.Errorf("%s is open, but no test", row[0])
		}
	}
}
