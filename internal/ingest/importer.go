package ingest

import (
	"bytes"
	"path"

	"github.com/headroom/headroom/internal/unpack"
)

// Importer reads the results of one tool.
type Importer struct {
	// Name is the source's name in a run: "fio", "clusterbuster".
	Name string
	// Title is a line for lists and for errors.
	Title string
	// Units explains in which units the tool prints, and whether its prefixes are powers of 1000 or of 1024.
	Units string
	// Sniff reports whether a file is this tool's. name is the file's path as the user gave it, or below the directory
	// that the user gave; head is its beginning in UTF-8, or all of it if it is shorter than 64 KiB.
	Sniff func(name string, head []byte) bool

	read func(f file, d *runBuilder) error
	// text is set if the importer reads lines that people copy, with any text before and between them.
	text bool
	// alone reports whether a text that another importer has read is of this tool as well; nil to use Sniff.
	alone func(text []byte) bool
}

// isAlso reports whether a text that another importer has read is of this tool as well.
func (imp Importer) isAlso(f file) bool {
	if imp.alone != nil {
		return imp.alone(f.data)
	}
	return imp.Sniff(f.path, f.data)
}

// Importers returns all importers in the order in which they are tried: the specific before the general.
func Importers() []Importer {
	importers := []Importer{
		clusterBuster(),
		crystalDiskMark(),
		kDiskMark(),
		kubestr(),
		benchFio(),
		fioJSON(),
		iperf3JSON(),
		proxmoxMigration(),
	}
	importers = append(importers, printedTexts()...)
	importers = append(importers, fioText())
	return append(append(importers, networkTexts()...), levelTable())
}

// headHas reports whether all the words occur at the top of a file, where special tools name themselves. A file that
// begins as fio's own JSON has none of them and is not searched: with ten thousand such files that would cost a
// twentieth of the import.
func headHas(head []byte, words ...string) bool {
	inside := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("{")), " \r\n\t")
	if bytes.HasPrefix(inside, []byte(`"fio version"`)) {
		return false
	}
	head = head[:min(len(head), 4<<10)]
	for _, w := range words {
		if !bytes.Contains(head, []byte(w)) {
			return false
		}
	}
	return true
}

// importerFor finds the importer of a file; nil if there is none.
func importerFor(importers []Importer, name string, head []byte) *Importer {
	for i := range importers {
		if importers[i].Sniff(name, head) {
			return &importers[i]
		}
	}
	return nil
}

// Recognise returns the title of the importer that would read a file, such as "fio's JSON"; empty for none.
func Recognise(name string, data []byte) string {
	i := importing{importers: Importers()}
	if imp, _ := i.importerOf(path.Base(name), unpack.Text(data)); imp != nil {
		return imp.Title
	}
	return ""
}
