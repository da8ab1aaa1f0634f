package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSourceDate(t *testing.T) {
	if made, err := sourceDate("1795731113"); err != nil || made.Format(time.RFC3339) != "2026-11-26T22:11:53Z" {
		t.Error(made, err)
	}
	if _, err := sourceDate(""); err == nil {
		t.Error("no time is a time")
	}
}

// TestImage makes an image of two architectures, one with a base, and reads it as a registry's client does.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"amd64/usr/bin/headroom": "for amd64", "arm64/usr/bin/headroom": "for arm64"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	base, err := image{}.layer(filepath.Join(dir, "amd64"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "arm64.base.tar"), base, 0o600); err != nil {
		t.Fatal(err)
	}
	i := image{name: "headroom", version: "1.2.3", commit: "c0ffee", made: time.Unix(1795731113, 0).UTC()}
	out := filepath.Join(dir, "image.tar")
	folders := []string{filepath.Join(dir, "amd64"), filepath.Join(dir, "arm64")}
	if err := writeImage(i, out, folders); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeImage(i, out, folders); err != nil {
		t.Fatal(err)
	}
	again, _ := os.ReadFile(out)
	if !bytes.Equal(first, again) {
		t.Error("made again, it differs")
	}
	layout := entries(t, first)
	var top, index struct {
		Manifests []descriptor `json:"manifests"`
	}
	read(t, layout["index.json"], &top)
	read(t, blobOf(t, layout, top.Manifests[0]), &index)
	if len(index.Manifests) != 2 {
		t.Fatalf("%d architectures", len(index.Manifests))
	}
	for n, m := range index.Manifests {
		checkManifest(t, layout, m, []int{1, 2}[n])
	}
}

func checkManifest(t *testing.T, layout map[string][]byte, m descriptor, layers int) {
	t.Helper()
	var manifest struct {
		Config descriptor   `json:"config"`
		Layers []descriptor `json:"layers"`
	}
	var config struct {
		Architecture string `json:"architecture"`
		Root         struct {
			Plain []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	read(t, blobOf(t, layout, m), &manifest)
	read(t, blobOf(t, layout, manifest.Config), &config)
	if len(manifest.Layers) != layers || len(config.Root.Plain) != layers || config.Architecture != m.Platform.Architecture {
		t.Fatalf("%+v %+v", manifest, config)
	}
	for i, l := range manifest.Layers {
		r, err := gzip.NewReader(bytes.NewReader(blobOf(t, layout, l)))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(r)
		if err != nil || digest(plain) != config.Root.Plain[i] {
			t.Fatal(err, digest(plain), config.Root.Plain[i])
		}
		files := entries(t, plain)
		if i == layers-1 && string(files["usr/bin/headroom"]) != "for "+m.Platform.Architecture {
			t.Errorf("%s has %q", m.Platform.Architecture, files["usr/bin/headroom"])
		}
	}
}

func blobOf(t *testing.T, layout map[string][]byte, d descriptor) []byte {
	t.Helper()
	data, ok := layout["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
	if !ok || len(data) != d.Size || digest(data) != d.Digest {
		t.Fatalf("no blob as described: %+v", d)
	}
	return data
}

func entries(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Mode&0o022 != 0 {
			t.Errorf("%s: user %d, mode %o", h.Name, h.Uid, h.Mode)
		}
		if found[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	// The end of an archive is two empty blocks: without them readers warn.
	if !bytes.HasSuffix(archive, make([]byte, 1024)) {
		t.Error("an archive without an end")
	}
	return found
}

func read(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// The test's own binary is one that Go linked.
func TestSBOMAndLicences(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := writeSBOM(&out, "../..", "headroom", "1.2.3", program, time.Unix(1795731113, 0).UTC()); err != nil {
		t.Fatal(err)
	}
	var doc sbom
	read(t, out.Bytes(), &doc)
	if doc.Version != "SPDX-2.3" || len(doc.Packages) < 2 || len(doc.Relationships) != len(doc.Packages) ||
		doc.Creation.Created != "2026-11-26T22:11:53Z" {
		t.Errorf("%+v", doc)
	}
	out.Reset()
	if err := writeLicences(&out, "../..", program); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "Redistributions of source code must retain") {
		t.Errorf("Go's own licence is not there:\n%.300s", out.String())
	}
	for _, e := range embedded() {
		readme, err := os.ReadFile(filepath.Join("../..", e.dir, "README.md"))
		if err != nil || !strings.Contains(string(readme), e.version) {
			t.Errorf("the page beside %s is of another version than %s: %v", e.dir, e.version, err)
		}
		if !strings.Contains(out.String(), "\n"+e.name+" "+e.version+": LICENSE\n\nThe MIT License") {
			t.Errorf("the licence of %s is not there", e.name)
		}
	}
}

func TestLicenceName(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License Version 2.0, January 2004":                                                       "Apache-2.0",
		"MIT License Permission is hereby granted, free of charge, to any person":                        "MIT",
		"Redistribution and use in source and binary forms, with or without":                             "BSD-2-Clause",
		"Redistribution and use in source and binary forms, * Neither the name of Google Inc. nor the":   "BSD-3-Clause",
		"ISC License Permission to use, copy, modify, and/or distribute this software for any purpose":   "ISC",
		"Mozilla Public License Version 2.0":                                                             "MPL-2.0",
		"Ask before you use it":                                                                          "",
		"Permission to use, copy, modify, and distribute this software for any purpose with or without ": "ISC",
	} {
		if got := licenceName(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
