package collect

import (
	"io/fs"
	"sync"

	"github.com/headroom/headroom/internal/lab"
)

// Scope is what a collector knows besides the files.
type Scope struct {
	Place lab.Place
	// Files are the machine's files, for commands that depend on what there is.
	Files fs.FS
	// Printed is the output of the collectors' commands, by the command as lab.ShellQuote renders it.
	Printed map[string]Printed
	// read is what several collectors of a snapshot need, by its type; nil makes each read its own.
	read *sync.Map
}

// NewScope is that of all collectors of a snapshot, but for what their commands print.
func NewScope(place lab.Place, files fs.FS) Scope {
	return Scope{Place: place, Files: files, read: new(sync.Map)}
}

// ReadOnce is what several collectors need and only the first of them reads.
func ReadOnce[T any](in Scope, read func() T) T {
	if in.read == nil {
		return read()
	}
	var key *T
	once, _ := in.read.LoadOrStore(key, sync.OnceValue(read))
	return once.(func() T)()
}

// Lookup is the output of a command as a collector sees it.
func (in Scope) Lookup(argv []string) Printed {
	p, ok := in.Printed[lab.ShellQuote(argv)]
	if !ok {
		return Printed{Failed: "the command was not carried out: " + lab.ShellQuote(argv)}
	}
	return p
}
