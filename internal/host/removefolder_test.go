package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// A process that enters a folder while it is being removed is ended, too. Many files make the removal slow.
func TestRemoveFolderEndsWhatEntersIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const files = 3000
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	removed := make(chan error, 1)
	go func() { removed <- RemoveFolder(dir) }()
	for ; ; time.Sleep(time.Millisecond) { // the removal has begun
		if names, err := os.ReadDir(dir); err != nil || len(names) < files {
			break
		}
	}
	var entered []*exec.Cmd
	for {
		c := exec.Command("sleep", "1000")
		c.Dir = dir
		if err := c.Start(); err != nil {
			break // the folder is gone
		}
		entered = append(entered, c)
		time.Sleep(2 * time.Millisecond)
	}
	if err := <-removed; err != nil {
		t.Fatal(err)
	}
	if len(entered) == 0 {
		t.Skip("nothing entered the folder before it was gone")
	}
	for _, c := range entered {
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Errorf("process %d goes on in a folder that is gone", c.Process.Pid)
			_ = c.Process.Kill()
		}
	}
}
