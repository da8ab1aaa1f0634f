package main

import "path/filepath"

// embeddedPackage is one of npm whose files are embedded in the program: no module of Go, so the binary does not name
// it.
type embeddedPackage struct {
	name, version string
	// dir has its files and its licence, from the folder of the repository on.
	dir string
}

func embedded() []embeddedPackage {
	return []embeddedPackage{{"uplot", "1.6.32", "internal/serve/static/uplot"}}
}

// listed is the package in the bill of materials.
func (e embeddedPackage) listed(root string) (spdxPackage, error) {
	licence, err := licenceOf(filepath.Join(root, e.dir))
	p := module(e.name, e.version, licence)
	p.References = []reference{purl("npm/"+e.name, e.version)}
	return p, err
}
