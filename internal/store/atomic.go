package store

import (
	"os"
	"path/filepath"
)

// saver saves files whole, and calls atStep before each step; tests crash there.
type saver struct{ atStep func(step string) }

// write puts data under name so that a crash at any moment leaves the old file or the new one: the data goes to a
// temporary file in the same folder, is flushed, takes the name, and the folder is flushed.
func (s *saver) write(name string, data []byte) error {
	step := filepath.Base(name)
	s.atStep("create " + step)
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+step+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // does nothing once renamed
	s.atStep("write " + step)
	if _, err := tmp.Write(data); err != nil {
		tmp.Close()
		return err
	}
	return s.commit(tmp, name)
}

// commit flushes an open temporary file, closes it and gives it its name.
func (s *saver) commit(tmp *os.File, name string) error {
	step := filepath.Base(name)
	s.atStep("flush " + step)
	if err := tmp.Sync(); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Chmod(0o644); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	s.atStep("rename " + step)
	if err := os.Rename(tmp.Name(), name); err != nil {
		return err
	}
	s.atStep("flush folder of " + step)
	return syncDir(filepath.Dir(name))
}

// syncDir makes the names in a folder survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
