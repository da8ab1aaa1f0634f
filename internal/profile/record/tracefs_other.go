//go:build !linux

package record

import (
	"errors"
	"os"
)

// tracefs only exists on Linux.
type tracefs struct{ *os.Root }

func openTracefs() (*tracefs, error) { return nil, errors.ErrUnsupported }

type rawFile int

func openRaw(*os.File) (rawFile, error) { return 0, errors.ErrUnsupported }

func (rawFile) read([]byte) (int, error) { return 0, errors.ErrUnsupported }

func (rawFile) close() error { return nil }

func readLockdown() string { return "" }
