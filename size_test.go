package headroom

import (
	"slices"
	"testing"
)

// mostLines is how long a file without tests may be, and mostFiles how many of them a folder may hold.
const (
	mostLines = 400
	mostFiles = 25
)

// fullFolders hold more than mostFiles and are still to be split, but for cli, which has one file a command.
func fullFolders() []string {
	return []string{"internal/cli"}
}

// What has more than one job can be seen by its size first.
func TestFilesAndFoldersAreSmall(t *testing.T) {
	folders := map[string]int{}
	for _, f := range goFiles(t, false) {
		folders[f.dir]++
		if n := len(lines(t, f.name)); n > mostLines {
			t.Errorf("%s has %d lines; split it by what it does, %d are the most", f.name, n, mostLines)
		}
	}
	for dir, n := range folders {
		if n > mostFiles && !slices.Contains(fullFolders(), dir) {
			t.Errorf("%s has %d files; make packages with one job each, %d files are the most", dir, n, mostFiles)
		}
	}
	for _, dir := range fullFolders() {
		if folders[dir] <= mostFiles {
			t.Errorf("%s has %d files: take it from fullFolders", dir, folders[dir])
		}
	}
}
