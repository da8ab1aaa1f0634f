package tree

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The faults of test/planted.tsv can still be planted: the file is there, and the sed script changes it. A change that
// moves what a fault breaks must move the fault.
func TestFaultsCanBePlanted(t *testing.T) {
	t.Chdir(root)
	planted := 0
	for _, line := range lines(t, "test/planted.tsv") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 6 {
			t.Errorf("%q has %d fields", line, len(fields))
			continue
		}
		name, file, script := fields[0], fields[1], fields[2]
		before, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		after, err := exec.Command("sed", script, file).Output()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(before, after) {
			t.Errorf("%s: %s has nothing to change", name, file)
		}
		planted++
	}
	if planted < 20 {
		t.Errorf("%d faults are planted", planted)
	}
}
