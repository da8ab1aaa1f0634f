package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// sbom is a document of SPDX 2.3, as far as it is used here: https://spdx.github.io/spdx-spec/v2.3/
type sbom struct {
	Version       string         `json:"spdxVersion"`
	DataLicense   string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []spdxPackage  `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	Name             string      `json:"name"`
	ID               string      `json:"SPDXID"`
	VersionInfo      string      `json:"versionInfo"`
	Supplier         string      `json:"supplier"`
	DownloadLocation string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	Concluded        string      `json:"licenseConcluded"`
	Declared         string      `json:"licenseDeclared"`
	Copyright        string      `json:"copyrightText"`
	Purpose          string      `json:"primaryPackagePurpose"`
	Comment          string      `json:"comment,omitempty"`
	Checksums        []checksum  `json:"checksums,omitempty"`
	References       []reference `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Kind string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

const (
	documentID  = "SPDXRef-DOCUMENT"
	unspecified = "NOASSERTION"
)

// writeSBOM lists what a binary is linked from, which Go records in it: that it is so needs no scanner's guess; and what
// is embedded from elsewhere, below the folder root of the repository.
func writeSBOM(w io.Writer, root, name, version, binary string, made time.Time) error {
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	program := spdxPackage{Name: name, ID: "SPDXRef-" + name, VersionInfo: version, Supplier: unspecified,
		DownloadLocation: unspecified, Concluded: "Apache-2.0", Declared: "Apache-2.0", Copyright: unspecified,
		Purpose: "APPLICATION", Checksums: []checksum{{"SHA256", digest}}}
	library := module("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "BSD-3-Clause")
	library.References = []reference{purl("golang/stdlib", library.VersionInfo)}
	doc := sbom{Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: documentID, Name: name + "-" + version,
		Namespace: "https://spdx.org/spdxdocs/" + name + "-" + version + "-" + digest,
		Creation:  creation{made.Format(time.RFC3339), []string{"Tool: headroom-tools-release"}},
		Packages:  []spdxPackage{program, library},
		Relationships: []relationship{{documentID, "DESCRIBES", program.ID},
			{program.ID, "STATIC_LINK", library.ID}}}
	for _, m := range info.Deps {
		p, err := dependency(m)
		if err != nil {
			return err
		}
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships, relationship{program.ID, "STATIC_LINK", p.ID})
	}
	for _, e := range embedded() {
		p, err := e.listed(root)
		if err != nil {
			return err
		}
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships, relationship{program.ID, "CONTAINS", p.ID})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}

// dependency is a module that was linked.
func dependency(m *debug.Module) (spdxPackage, error) {
	dir, err := moduleDir(m)
	if err != nil {
		return spdxPackage{}, err
	}
	licence, err := licenceOf(dir)
	if err != nil {
		return spdxPackage{}, err
	}
	p := module(m.Path, m.Version, licence)
	p.Comment = "go.sum: " + m.Sum // of the files' names and hashes, so that it is no checksum of the archive
	p.References = []reference{purl("golang/"+m.Path, m.Version)}
	return p, nil
}

func module(name, version, licence string) spdxPackage {
	id := strings.Map(func(r rune) rune {
		if r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, name)
	return spdxPackage{Name: name, ID: "SPDXRef-module-" + id, VersionInfo: version, Supplier: unspecified,
		DownloadLocation: unspecified, Concluded: licence, Declared: licence, Copyright: unspecified, Purpose: "LIBRARY"}
}

func purl(path, version string) reference {
	return reference{"PACKAGE-MANAGER", "purl", "pkg:" + path + "@" + strings.ReplaceAll(version, "+", "%2B")}
}
