//go:build !linux

package safepath

import "os"

// OpenFolder opens a folder. Elsewhere than on Linux nothing can be opened by what was looked at, so it is the path
// that counts; no load runs there, and nobody is root for it.
func OpenFolder(name string) (*Folder, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Folder{root}, nil
}
