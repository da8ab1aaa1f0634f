package safepath

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Folder is a folder of this machine that is held open: operations affect that folder, wherever its path leads
// meanwhile. Names in it have one part, and no link is followed.
type Folder struct{ root *os.Root }

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Info describes the folder itself.
func (f *Folder) Info() (fs.FileInfo, error) { return f.root.Stat(".") }

// Create creates a file that only the user can read or write. An existing name is an error, whatever kind of file has
// it.
func (f *Folder) Create(name string) (*os.File, error) {
	return f.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// Open opens a regular file that has no other name: one with several could belong to any user.
func (f *Folder) Open(name string) (*os.File, error) {
	file, err := f.root.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Sys().(*syscall.Stat_t).Nlink != 1) {
		err = &Unsafe{Name: name, Why: "is no regular file, or has other names"}
	}
	if err == nil && !f.Holds(name, info) {
		err = &Unsafe{Name: name, Why: "is a link"}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Holds reports whether a name belongs to a file.
func (f *Folder) Holds(name string, file fs.FileInfo) bool {
	info, err := f.root.Lstat(name)
	return err == nil && os.SameFile(info, file)
}

// Remove deletes a regular file and reports whether there was one. Other kinds of files are left unchanged, with an
// error.
func (f *Folder) Remove(name string) (bool, error) {
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = &Unsafe{Name: name, Why: "is no regular file"}
	}
	if err == nil {
		err = f.root.Remove(name)
	}
	return err == nil, err
}

// RemoveAll deletes a folder with its contents.
func (f *Folder) RemoveAll(name string) error { return f.root.RemoveAll(name) }

// Mkdir creates a folder and opens it.
func (f *Folder) Mkdir(name string, mode fs.FileMode) (*Folder, error) {
	if err := f.root.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	made, err := f.Own(name)
	if err != nil {
		return nil, err
	}
	if err := made.with(func(d *os.File) error { return d.Chmod(mode) }); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	return made, nil
}

// Own opens a folder that belongs to the user, in which no other user can create or remove names.
func (f *Folder) Own(name string) (*Folder, error) {
	root, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	own := &Folder{root}
	info, err := own.Info()
	switch {
	case err != nil:
	case !f.Holds(name, info):
		err = &Unsafe{Name: name, Why: "is a link"}
	case InfoOf(info).Owner != os.Geteuid():
		err = &Unsafe{Name: name, Why: fmt.Sprintf("belongs to user %d", InfoOf(info).Owner)}
	case info.Mode()&0o022 != 0:
		err = &Unsafe{Name: name, Why: "can be written to by others"}
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return own, nil
}

// Give makes a user the folder's owner.
func (f *Folder) Give(user int) error {
	return f.with(func(d *os.File) error { return d.Chown(user, -1) })
}

func (f *Folder) with(do func(*os.File) error) error {
	d, err := f.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(do(d), d.Close())
}

// Write writes a file, completely or not at all. An existing file with the name is replaced, even a link; the
// permissions of a replaced file are kept.
func (f *Folder) Write(name string, write func(io.Writer) error) error {
	mode := fs.FileMode(0o644)
	if was, err := f.root.Lstat(name); err == nil && was.Mode().IsRegular() {
		mode = was.Mode().Perm()
	}
	building := "." + name + "." + rand.Text()[:8]
	file, err := f.Create(building)
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.Chmod(mode), file.Close())
	if err == nil {
		err = f.root.Rename(building, name)
	}
	if err != nil {
		return errors.Join(err, f.root.Remove(building))
	}
	return nil
}

// cause removes a path that an error already names.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
