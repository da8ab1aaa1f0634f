//go:build !linux

package safepath

import "os"

// OpenFolder opens a folder. Only on Linux can the checked file itself be opened, so this uses the path. No load runs
// on other systems, and headroom does not run as root there.
func OpenFolder(name string) (*Folder, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Folder{root}, nil
}
